import { expect, test } from 'vitest'
import { displayWidth } from '../terminal/display-width.ts'
import { createStyle } from '../terminal/style.ts'
import { runEvents, twoSessions } from './fake-run.ts'
import { liveLines } from './live-lines.ts'
import { applyEvent, createView, type View } from './view.ts'

const plain = createStyle(false)

function exampleView(children = 0): View {
  const view = createView()
  for (const event of runEvents(...twoSessions())) applyEvent(view, event)
  for (let n = 2; n < children + 2; n += 1) {
    const job = { job: `root-exp-${n}` as never, alias: `exp-${n}`, agent: '探検家エージェント', generation: 1 }
    const events = runEvents(
      ['root', { type: 'job.launched', ...job, background: true, description: '' }],
      ['root', { type: 'job.updated', ...job, state: n === children + 1 ? 'running' : 'completed' }],
    )
    for (const event of events) applyEvent(view, event)
  }
  return view
}

test('one line a session, then the sum of it all', () => {
  const lines = liveLines(exampleView(), { columns: 80, maxLines: 24, style: plain, elapsedMs: 12_000 })
  expect(lines).toEqual([
    `● lead                      ${'running'.padEnd(33)}       1 turn 1.0k`,
    `● exp-1          explorer   ${'read src/a.ts'.padEnd(33)}          1 turn 0`,
    '  1 job: 1 running · 1.0k tokens · 12 s',
  ])
})

test('no line is as wide as the terminal, however narrow, and never more than it has rows', () => {
  for (const columns of [200, 80, 60, 40, 20, 10]) {
    for (const maxLines of [50, 24, 8, 4]) {
      const lines = liveLines(exampleView(30), { columns, maxLines, style: plain, elapsedMs: 1 })
      for (const line of lines) expect(displayWidth(line)).toBeLessThan(columns)
      expect(lines.length).toBe(Math.min(maxLines, 33))
    }
  }
})

test('when there are too many, those at work stay', () => {
  const text = liveLines(exampleView(30), { columns: 80, maxLines: 8, style: plain, elapsedMs: 1 }).join('\n')
  expect(text).toContain('lead')
  expect(text).toContain('exp-1 ')
  expect(text).toContain('exp-31')
  expect(text).toContain('… and 26 more')
})
