import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonLine, oneLine, spellOut, stripControls } from './sanitize.ts'

test('escape sequences leave no trace: colours, cursor moves, titles, links, 7 bit and 8 bit', () => {
  expect(stripControls('a\x1b[31mred\x1b[0m \x1b[2J\x1b[1;1Hb')).toBe('ared b')
  expect(stripControls('\x1b]0;new title\x07text')).toBe('text')
  expect(stripControls('\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\')).toBe('link')
  expect(stripControls('\x9b31mred \x9d0;title\x9cend')).toBe('red end')
  expect(stripControls('\x1bPq#0~\x1b\\after \x1bcdone')).toBe('after done')
})

test('a sequence that never ends takes nothing with it but its beginning', () => {
  expect(stripControls('before \x1b]0;no end in sight')).toBe('before 0;no end in sight')
  expect(stripControls('ends in \x1b')).toBe('ends in ')
})

test('newlines and tabs stay, a carriage return cannot overwrite what stands before it', () => {
  expect(stripControls('a\r\nb\tc\rd')).toBe('a\nb\tcd')
  expect(oneLine(' a\n\n b\tc ')).toBe('a b c')
})

test('no text at all brings a control character to the terminal', () => {
  const hostile = fc.array(
    fc.oneof(fc.constantFrom('\x1b', '\x9b', ']', '[', '\x07', ';', '\\', '\r', 'm'), fc.string()),
  )
  fc.assert(
    fc.property(hostile, (parts) => {
      expect(stripControls(parts.join(''))).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/)
      expect(oneLine(parts.join(''))).not.toMatch(/[\x00-\x1f\x7f-\x9f]/)
    }),
  )
})

test('what a person approves hides nothing: controls and direction marks are spelled out', () => {
  expect(spellOut('rm -rf ~ \r ls')).toBe('rm -rf ~ \\x0d ls')
  expect(spellOut('a\u202eb\u200bc\x1b[8m')).toBe('a\\u202eb\\u200bc\\x1b[8m')
})

test('a JSON line has no byte that a terminal obeys, and the same value', () => {
  const value = { text: 'a\x1b[2J\x9b31m\x7f\u2028' }
  expect(jsonLine(value)).not.toMatch(/[\x00-\x1f\x7f-\x9f\u2028]/)
  expect(JSON.parse(jsonLine(value))).toEqual(value)
})
