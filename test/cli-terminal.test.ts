import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { FakeTerminal } from '../src/cli/terminal/fake-terminal.ts'
import { newHome, type RunningCli } from './cli-process.ts'

const asksForShell = `
rules:
  - when: { turn: 1 }
    reply: { calls: [{ tool: bash, args: { command: "touch made.txt", description: "make a file" } }] }
  - when: {}
    reply: { text: "answer: {{last}}" }
`
const slow = 'rules: [{ when: {}, reply: { text: "too late", delayMs: 60000 } }]'

/** util-linux's `script` gives a command a terminal. */
const hasTerminals = spawnSync('script', ['-qec', 'true', '/dev/null'], { input: '' }).status === 0

/** What a person sees in the end. */
function screenOf({ stdout }: RunningCli): string[] {
  const terminal = new FakeTerminal()
  terminal.write(stdout())
  return terminal.screen
}

async function shows(running: RunningCli, text: string): Promise<void> {
  await vi.waitFor(() => expect(running.stdout()).toContain(text), { timeout: 30_000 })
}

describe.skipIf(!hasTerminals)('at a terminal', () => {
  test('a question shows the command and is answered by a key; the answer follows the lines of progress', async () => {
    const { startAtTerminal, put, dir } = newHome()
    const running = startAtTerminal(['run', 'go', '--model', `scripted:${put('s.yaml', asksForShell)}`])
    await shows(running, 'y/n/t/a > ')
    expect(running.stdout()).toContain('  touch made.txt')
    expect(existsSync(join(dir, 'made.txt'))).toBe(false)
    running.child.stdin?.write('y\n')
    expect((await running.finished).code).toBe(0)
    expect(existsSync(join(dir, 'made.txt'))).toBe(true)
    expect(screenOf(running).at(-1)).toMatch(/^answer: /)
    expect(screenOf(running).join('\n')).toMatch(/✓ lead .*2 turns/)
    expect(running.stdout().lastIndexOf('\x1b[?25h')).toBeGreaterThan(running.stdout().lastIndexOf('\x1b[?25l'))
  })

  test('a no with a reason reaches the model', async () => {
    const { startAtTerminal, put, dir } = newHome()
    const running = startAtTerminal(['run', 'go', '--model', `scripted:${put('s.yaml', asksForShell)}`])
    await shows(running, 'y/n/t/a > ')
    running.child.stdin?.write('t\n')
    await shows(running, 'Why not? > ')
    running.child.stdin?.write('leave it alone\n')
    expect((await running.finished).code).toBe(0)
    expect(screenOf(running).join('\n')).toContain('leave it alone')
    expect(existsSync(join(dir, 'made.txt'))).toBe(false)
  })

  test('Ctrl-C stops the turn, and the run that has nothing else to do ends with 130', async () => {
    const { startAtTerminal, put } = newHome()
    const running = startAtTerminal(['run', 'go', '--model', `scripted:${put('s.yaml', slow)}`])
    await shows(running, 'thinks')
    running.child.stdin?.write('\x03')
    expect((await running.finished).code).toBe(130)
    expect(running.stdout()).toContain('Stopping this turn')
    expect(running.stdout()).toContain('troupe resume')
  })

  /** The root runs a command that heeds no TERM; a child in the background finds something meanwhile. */
  const stubborn = (childMs: number) => `
rules:
  - when: { depth: 0, turn: 1 }
    reply:
      calls:
        - { tool: task, args: { agent: explorer, prompt: look, background: true } }
        - { tool: bash, args: { command: "trap '' TERM; echo $$ > pid; for n in $(seq 30); do sleep 1; done" } }
  - when: { depth: 1 }
    reply: { text: found it, delayMs: ${childMs} }
  - when: { results: 1 }
    reply: { text: "so it {{results}}" }
  - when: {}
    reply: { text: never }
`

  async function commandOf(dir: string): Promise<number> {
    return vi.waitFor(
      () => {
        const pid = Number(readFileSync(join(dir, 'pid'), 'utf8'))
        expect(pid).toBeGreaterThan(0)
        return pid
      },
      { timeout: 30_000 },
    )
  }

  const isGone = (pid: number) =>
    vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), { timeout: 15_000, interval: 50 })

  test('Ctrl-C once stops the turn, also a command that heeds no TERM, and what runs in the background goes on', async () => {
    const { startAtTerminal, put, dir } = newHome()
    const script = put('s.yaml', stubborn(4000))
    const running = startAtTerminal(['run', 'go', '--permission', 'allow', '--model', `scripted:${script}`])
    const command = await commandOf(dir)
    running.child.stdin?.write('\x03')
    await shows(running, 'Stopping this turn')
    expect((await running.finished).code).toBe(0)
    expect(screenOf(running).at(-1)).toBe('so it exp-1: found it')
    await isGone(command)
  })

  test('Ctrl-C twice stops everything and gives the terminal back', async () => {
    const { startAtTerminal, put, dir } = newHome()
    const script = put('s.yaml', stubborn(60_000))
    const running = startAtTerminal(['run', 'go', '--permission', 'allow', '--model', `scripted:${script}`])
    const command = await commandOf(dir)
    running.child.stdin?.write('\x03')
    await shows(running, 'Stopping this turn')
    running.child.stdin?.write('\x03')
    await shows(running, 'Stopping everything')
    expect((await running.finished).code).toBe(130)
    expect(running.stdout().lastIndexOf('\x1b[?25h')).toBeGreaterThan(running.stdout().lastIndexOf('\x1b[?25l'))
    await isGone(command)
  })

  test('Ctrl-C at a question takes the question away', async () => {
    const { startAtTerminal, put, dir } = newHome()
    const running = startAtTerminal(['run', 'go', '--model', `scripted:${put('s.yaml', asksForShell)}`])
    await shows(running, 'y/n/t/a > ')
    running.child.stdin?.write('\x03')
    expect((await running.finished).code).toBe(130)
    expect(screenOf(running).join('\n')).not.toContain('yes, this once')
    expect(existsSync(join(dir, 'made.txt'))).toBe(false)
  })

  test('without a prompt it asks for one', async () => {
    const { startAtTerminal, put } = newHome()
    const script = put('s.yaml', 'rules: [{ when: {}, reply: { text: "You said: {{prompt}}" } }]')
    const running = startAtTerminal(['run', '--model', `scripted:${script}`])
    await shows(running, 'What shall be done? > ')
    running.child.stdin?.write('a good deed\n')
    expect((await running.finished).code).toBe(0)
    expect(screenOf(running).at(-1)).toBe('You said: a good deed')
  })
})
