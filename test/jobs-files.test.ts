import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { newHome } from './cli-process.ts'

const script = stringify({
  rules: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: {
        calls: [
          { tool: 'task', args: { agent: 'general', prompt: 'change it', background: true, files: ['src/**'] } },
          { tool: 'task', args: { agent: 'explorer', prompt: 'look' } },
        ],
      },
    },
    { when: { agent: 'lead', results: 1 }, reply: { text: 'done' } },
    { when: { agent: 'lead' }, reply: { text: 'waiting' } },
    {
      when: { agent: 'explorer', turn: 1 },
      reply: { calls: [{ tool: 'read', args: { file_path: 'src/a.ts' } }] },
    },
    { when: { agent: 'explorer' }, reply: { text: 'looked' } },
    {
      when: { agent: 'general', turn: 1 },
      reply: { delayMs: 1500, calls: [{ tool: 'write', args: { file_path: 'src/a.ts', content: 'new\n' } }] },
    },
    { when: { agent: 'general' }, reply: { text: 'changed' } },
  ],
})

describe('troupe jobs', () => {
  test('shows who has read what, and --files turns it round', async () => {
    const { put, run } = newHome()
    put('src/a.ts', 'old\n')
    const model = `scripted:${put('../script.yaml', script)}`
    const ran = await run(['run', 'go', '--model', model, '--session', 'shared', '--permission', 'edits'])
    expect(ran).toMatchObject({ code: 0 })
    const jobs = await run(['jobs', 'shared'])
    expect(jobs.stdout).toMatch(/exp-1 .*src\/a\.ts +- +look/)
    const files = await run(['jobs', 'shared', '--files'])
    expect(files.stdout).toMatch(/^src\/a\.ts +exp-1 \(stale\), gen-1 +gen-1 +-$/m)
    const [row] = JSON.parse((await run(['jobs', 'shared', '--files', '--json'])).stdout)
    expect(row).toMatchObject({
      readers: [
        { alias: 'exp-1', stale: true },
        { alias: 'gen-1', stale: false },
      ],
      writers: [{ alias: 'gen-1' }],
    })
  })

  test('shows what a job at work holds', async () => {
    const { put, run, start } = newHome()
    put('src/a.ts', 'old\n')
    const held = script.replace('delayMs: 1500', 'delayMs: 60000')
    const model = `scripted:${put('../script.yaml', held)}`
    const running = start(['run', 'go', '--model', model, '--session', 'shared', '--json'])
    await expect.poll(running.stdout, { timeout: 30_000 }).toContain('"job.finished"')
    expect((await run(['jobs', 'shared'])).stdout).toMatch(/gen-1 .* - +src\/\*\* +change it/)
    expect((await run(['jobs', 'shared', '--files'])).stdout).toMatch(/src\/a\.ts +exp-1 +- +gen-1/)
    running.child.kill('SIGKILL')
  })
})
