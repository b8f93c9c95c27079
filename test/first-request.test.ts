import { describe, expect, test } from 'vitest'
import { overhear } from './support/overheard.ts'
import { createStage, createWorkplace } from './support/workplace.ts'

const charsPerToken = 4
const script = { rules: [{ when: {}, reply: { text: 'hello' } }] }

describe.each([
  ['compact', 2000],
  ['full', 6000],
] as const)('the first request of the toolset %s', (toolset, maxTokens) => {
  test.each(['lead', 'explorer', 'fixer'])(`of %s is at most ${maxTokens} tokens`, async (agent) => {
    const workplace = createWorkplace({ 'a.txt': 'a\n' })
    const { requests, options } = await overhear(workplace, script)
    const { play } = await createStage(workplace, script, { ...options, config: { toolset } })
    expect((await play('hello', agent)).status).toBe('done')
    const { messages, tools } = requests[0]!
    const chars = JSON.stringify(tools).length + messages.reduce((sum, { content }) => sum + content.length, 0)
    expect(Math.ceil(chars / charsPerToken)).toBeLessThanOrEqual(maxTokens)
  })
})
