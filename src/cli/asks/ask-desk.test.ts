import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { PermissionAsk } from '../../core/events.ts'
import { FakeTerminal } from '../terminal/fake-terminal.ts'
import { createStyle } from '../terminal/style.ts'
import { createAskDesk } from './ask-desk.ts'

function openDesk() {
  const screen = new FakeTerminal()
  const stdin = new PassThrough()
  const calls: string[] = []
  const note = (call: string) => () => void calls.push(call)
  const desk = createAskDesk({
    stdin,
    screen: screen as never,
    style: createStyle(false),
    pause: note('pause'),
    resume: note('resume'),
    interrupt: note('interrupt'),
  })
  onTestFinished(() => desk.close())
  const shows = (text: string) => vi.waitFor(() => expect(screen.screen.join('\n')).toContain(text))
  return { screen, stdin, calls, desk, shows }
}

function askFor(title: string): PermissionAsk {
  const id = `root/${title}` as never
  return {
    id,
    sessionId: 'root' as never,
    kind: 'shell',
    title,
    detail: title,
    agent: 'lead',
    depth: 0,
    always: 'bash: *',
  }
}

test('each answer that a person can give arrives', async () => {
  const { stdin, desk, shows } = openDesk()
  const answers = { y: { decision: 'once' }, n: { decision: 'reject' }, a: { decision: 'always' } }
  for (const [key, answer] of Object.entries(answers)) {
    const answered = desk.ask(askFor(`ls ${key}`))
    await shows(`asks: ls ${key}`)
    stdin.write(`${key}\n`)
    expect(await answered).toEqual(answer)
  }
})

test('a no may say why', async () => {
  const { stdin, desk, shows } = openDesk()
  const answered = desk.ask(askFor('rm -rf build'))
  await shows('y/n/t/a >')
  stdin.write('t\n')
  await shows('Why not? >')
  stdin.write('use npm run clean\n')
  expect(await answered).toEqual({ decision: 'reject', text: 'use npm run clean' })
})

test('what is no answer is asked again', async () => {
  const { stdin, screen, desk, shows } = openDesk()
  const answered = desk.ask(askFor('ls'))
  await shows('y/n/t/a >')
  stdin.write('maybe\n')
  await vi.waitFor(() => expect(screen.screen.filter((line) => line.startsWith('y/n/t/a >'))).toHaveLength(2))
  stdin.write('y\n')
  expect(await answered).toEqual({ decision: 'once' })
})

test('several are asked one after the other, and progress pauses meanwhile', async () => {
  const { stdin, screen, calls, desk, shows } = openDesk()
  const first = desk.ask(askFor('one'))
  const second = desk.ask(askFor('two'))
  await shows('asks: one')
  expect(screen.screen.join('\n')).not.toContain('asks: two')
  stdin.write('y\n')
  await first
  await shows('asks: two')
  stdin.write('n\n')
  expect(await second).toEqual({ decision: 'reject' })
  await vi.waitFor(() => expect(calls).toEqual(['pause', 'resume', 'pause', 'resume']))
})

test('a question that is withdrawn while it is shown disappears, and the next one comes', async () => {
  const { stdin, screen, desk, shows } = openDesk()
  const first = desk.ask(askFor('one'))
  const second = desk.ask(askFor('two'))
  await shows('y/n/t/a >')
  desk.withdraw('root/one')
  await first
  await shows('asks: two')
  expect(screen.screen.join('\n')).not.toContain('asks: one')
  stdin.write('y\n')
  expect(await second).toEqual({ decision: 'once' })
})

test('a question that is withdrawn before its turn is never shown', async () => {
  const { stdin, screen, desk, shows } = openDesk()
  const first = desk.ask(askFor('one'))
  const second = desk.ask(askFor('two'))
  await shows('asks: one')
  desk.withdraw('root/two')
  stdin.write('y\n')
  await Promise.all([first, second])
  expect(screen.raw).not.toContain('asks: two')
})

test('keys pressed before the question was there do not answer it', async () => {
  const { stdin, desk, shows } = openDesk()
  stdin.write('y\n')
  const answered = desk.ask(askFor('rm -rf ~'))
  await shows('y/n/t/a >')
  stdin.write('n\n')
  expect(await answered).toEqual({ decision: 'reject' })
})

test('Ctrl-C at a question is passed on, Ctrl-D is a no', async () => {
  const { stdin, calls, desk, shows } = openDesk()
  const answered = desk.ask(askFor('ls'))
  await shows('y/n/t/a >')
  stdin.write('\x03')
  await vi.waitFor(() => expect(calls).toContain('interrupt'))
  stdin.write('\x04')
  expect(await answered).toEqual({ decision: 'reject' })
})
