import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makePng } from './support/images.ts'
import { createModelStage, sayCalls, sayText, startModelServer } from './support/model-server.ts'
import { createStage, createWorkplace, type Workplace } from './support/workplace.ts'

// An image goes from a file through a worker thread to the server of the model, and not through the journal.

const readImages = (...paths: string[]) => paths.map((file_path) => ({ tool: 'read', args: { file_path } }))

const capabilities = ['completion', 'tools', 'vision']

/** A script whose model looks at images: it says how many it was sent. */
const looking = (paths: string[], model: object = { vision: true }) => ({
  model,
  rules: [
    { when: { turn: 1 }, reply: { calls: readImages(...paths) } },
    ...[3, 2, 1].map((images) => ({ when: { images }, reply: { text: `seen ${images}: {{last}}` } })),
    { when: {}, reply: { text: 'blind: {{last}}' } },
  ],
})

function withImages(...sizes: [name: string, pixels: number][]): Workplace {
  const workplace = createWorkplace()
  for (const [name, pixels] of sizes) writeFileSync(join(workplace.dir, name), makePng(pixels, pixels))
  return workplace
}

describe('an image that is read', () => {
  test.each(['full', 'compact'] as const)('is shown to a model that sees (%s)', async (toolset) => {
    const workplace = withImages(['a.png', 10])
    const { play } = await createStage(workplace, looking(['a.png']), { config: { toolset } })
    expect((await play('Look.')).text).toMatch(
      /^seen 1: a\.png is a PNG image \(10 x 10 pixels, \d+ bytes\); you see it below\.$/,
    )
  })

  test('is named to one that does not', async () => {
    const workplace = withImages(['a.png', 10])
    const { play } = await createStage(workplace, looking(['a.png'], {}))
    expect((await play('Look.')).text).toMatch(/^blind: a\.png is a PNG image .* This model sees no images/)
  })

  test('that is broken, too large or of another kind is named, and never sent', async () => {
    const workplace = withImages(['cut.png', 40], ['large.png', 2400])
    const { dir } = workplace
    writeFileSync(join(dir, 'cut.png'), makePng(40, 40).subarray(0, 400))
    writeFileSync(join(dir, 'a.gif'), 'GIF89a\x01\0\x01\0\0\0\0;')
    writeFileSync(join(dir, 'head.jpg'), Buffer.from('ffd8ffe000', 'hex'))
    const paths = ['cut.png', 'large.png', 'a.gif', 'head.jpg']
    const server = await startModelServer((response, _, nth) => {
      if (nth === 1) sayCalls(response, ...paths.map((path) => ['read', { file_path: path }] as [string, object]))
      else sayText(response, 'Nothing to see.')
    }, capabilities)
    const { play } = await createModelStage(server, {}, workplace)
    await play('Look.')
    const { messages } = server.asked.at(-1)!
    expect(messages.flatMap(({ images = [] }) => images)).toEqual([])
    const results = messages.filter(({ role }) => role === 'tool')
    expect(results.map(({ content }) => content)).toEqual([
      expect.stringMatching(/^cut\.png is a PNG image .* but its end is missing/),
      expect.stringMatching(/^large\.png is a PNG image .* too large to be shown/),
      expect.stringMatching(/^a\.gif is a GIF image/),
      expect.stringMatching(/^head\.jpg is a JPEG image .* its head is damaged/),
    ])
  })
})

describe('over the wire', () => {
  test('images stand in one message below the results of their turn, the same ones each time', async () => {
    const workplace = withImages(['a.png', 10], ['b.png', 20])
    const server = await startModelServer((response, _, nth) => {
      if (nth === 1)
        sayCalls(response, ...['a.png', 'b.png'].map((p) => ['read', { file_path: p }] as [string, object]))
      else if (nth === 2) sayCalls(response, ['glob', { pattern: '*' }])
      else sayText(response, 'Two squares.')
    }, capabilities)
    const { play } = await createModelStage(server, {}, workplace)
    expect((await play('Look.')).text).toBe('Two squares.')
    const sent = ['a.png', 'b.png'].map((name) => readFileSync(join(workplace.dir, name)).toString('base64'))
    const last = server.asked.at(-1)!.messages.filter(({ content }) => !content.startsWith('<job-board>'))
    expect(last.map(({ role, images }) => [role, images])).toEqual([
      ['system', undefined],
      ['user', undefined],
      ['assistant', undefined],
      ['tool', undefined],
      ['tool', undefined],
      ['user', sent],
      ['assistant', undefined],
      ['tool', undefined],
    ])
    expect(last[5]?.content).toBe('[Images of the results above, in order: a.png, b.png]')
  })

  test('a session that is continued shows them again, its journal is small, and says when one is gone', async () => {
    const workplace = withImages(['a.png', 600])
    const server = await startModelServer((response, { turn }) => {
      if (turn === 1) sayCalls(response, ['read', { file_path: 'a.png' }])
      else sayText(response, `turn ${turn}`)
    }, capabilities)
    const first = await createModelStage(server, {}, workplace)
    const { root } = await first.play('Look.')
    await first.troupe.close()
    const journals = readdirSync(workplace.dataDir, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.jsonl'),
    )
    expect(journals.length).toBeGreaterThan(0)
    for (const name of journals) expect(readFileSync(join(workplace.dataDir, name)).length).toBeLessThan(20_000)

    const again = async () => {
      const { troupe } = await createModelStage(server, {}, workplace)
      await troupe.run({ session: root, prompt: 'And now?' }).finished
      await troupe.close()
      return server.asked.at(-1)!.messages
    }
    expect((await again()).flatMap(({ images = [] }) => images)).toEqual([
      readFileSync(join(workplace.dir, 'a.png')).toString('base64'),
    ])
    rmSync(join(workplace.dataDir, 'tool-output'), { recursive: true })
    const without = await again()
    expect(without.flatMap(({ images = [] }) => images)).toEqual([])
    expect(without.find(({ role }) => role === 'tool')?.content).toContain(
      '[the image is no longer stored; read it again]',
    )
  })
})
