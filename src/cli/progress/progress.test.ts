import { expect, test } from 'vitest'
import { FakeTerminal } from '../terminal/fake-terminal.ts'
import { exp1, runEvents, twoSessions } from './fake-run.ts'
import { createProgress } from './progress.ts'

test('on a terminal the last state stays on the screen, with notes above it and the cursor back', () => {
  const screen = new FakeTerminal()
  const progress = createProgress({ kind: 'live', screen })
  progress.note('troupe: a header')
  for (const event of runEvents(...twoSessions())) progress.take(event)
  progress.close()
  expect(screen.screen[0]).toBe('troupe: a header')
  expect(screen.screen[1]).toMatch(/^● lead/)
  expect(screen.screen[2]).toMatch(/^● exp-1 +explorer +read src\/a.ts/)
  expect(screen.cursorVisible).toBe(true)
})

test('while it pauses nothing is drawn, and what happened meanwhile is shown afterwards', () => {
  const screen = new FakeTerminal()
  const progress = createProgress({ kind: 'live', screen })
  const events = runEvents(...twoSessions(), ['root', { type: 'job.updated', ...exp1, state: 'waiting' }])
  for (const event of events.slice(0, -1)) progress.take(event)
  progress.pause()
  screen.write('May I?\n')
  progress.take(events.at(-1)!)
  progress.note('a note')
  expect(screen.screen).toEqual(['May I?'])
  progress.resume()
  expect(screen.screen.slice(0, 2)).toEqual(['May I?', 'a note'])
  expect(screen.screen[3]).toMatch(/^◌ exp-1/)
  progress.close()
})

test('without a terminal there are plain lines and no escape sequence', () => {
  const screen = new FakeTerminal()
  const progress = createProgress({ kind: 'plain', screen })
  for (const event of runEvents(...twoSessions())) progress.take(event)
  progress.close()
  progress.close()
  expect(screen.screen.slice(0, 2)).toEqual([
    '[exp-1 explorer] started in the background: count the exports',
    '[exp-1 explorer] read src/a.ts',
  ])
  expect(screen.screen).toHaveLength(3)
  expect(screen.raw).not.toContain('\x1b')
})

test('quiet means trouble only', () => {
  const screen = new FakeTerminal()
  const progress = createProgress({ kind: 'quiet', screen })
  const trouble = { type: 'limit.reached' as const, limit: 'maxTurns', value: 3 }
  for (const event of runEvents(...twoSessions(), ['root', trouble])) progress.take(event)
  progress.close()
  expect(screen.screen).toEqual(['[lead] reached the limit maxTurns of 3'])
})
