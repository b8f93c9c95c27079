import { expect, test } from 'vitest'
import { startListener } from './support/model-listener.ts'
import { createStage, createWorkplace } from './support/workplace.ts'

const charsPerToken = 4

test.each([
  ['compact', '3B', 2000],
  ['full', '70B', 6000],
])('the first request in the toolset %s is at most as long as promised', async (_, parameters, mostTokens) => {
  const workplace = createWorkplace()
  const script = workplace.script({ model: { parameters }, rules: [{ when: {}, reply: { text: 'Done.' } }] })
  const { url, seen } = await startListener(script)
  const { play } = await createStage(workplace, '', {
    model: 'ollama/scripted',
    config: { servers: { ollama: { url } } },
  })
  await play('What is in this folder?')
  expect(seen).toHaveLength(1)
  const tokens = Math.ceil(seen[0]!.input.length / charsPerToken)
  expect(tokens).toBeLessThanOrEqual(mostTokens)
  expect(tokens).toBeGreaterThan(mostTokens / 4)
})
