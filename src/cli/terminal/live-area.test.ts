import { expect, test } from 'vitest'
import { FakeTerminal } from './fake-terminal.ts'
import { createLiveArea } from './live-area.ts'

test('lines are replaced in place, also by fewer', () => {
  const terminal = new FakeTerminal()
  const area = createLiveArea(terminal)
  area.draw(['one', 'two', 'three'])
  area.draw(['1', '2'])
  expect(terminal.screen).toEqual(['1', '2'])
})

test('what is logged stays above the lines', () => {
  const terminal = new FakeTerminal()
  const area = createLiveArea(terminal)
  area.draw(['working'])
  area.log(['a note', 'another'])
  area.draw(['still working'])
  expect(terminal.screen).toEqual(['a note', 'another', 'still working'])
})

test('the cursor is hidden while lines change and back at the end', () => {
  const terminal = new FakeTerminal()
  const area = createLiveArea(terminal)
  area.draw(['working'])
  expect(terminal.cursorVisible).toBe(false)
  area.close()
  expect(terminal.cursorVisible).toBe(true)
  expect(terminal.screen).toEqual(['working'])
})

test('clearing leaves nothing but what was logged, and a visible cursor', () => {
  const terminal = new FakeTerminal()
  const area = createLiveArea(terminal)
  area.draw(['one', 'two'])
  area.log(['note'])
  area.clear()
  expect(terminal.screen).toEqual(['note'])
  expect(terminal.cursorVisible).toBe(true)
})

test('a terminal made narrower wraps the old lines: the area goes up by what they take now', () => {
  const terminal = new FakeTerminal()
  const area = createLiveArea(terminal)
  area.draw(['x'.repeat(60), 'short'])
  terminal.columns = 40
  area.draw(['y'])
  expect(terminal.raw).toContain('\x1b[3A')
})
