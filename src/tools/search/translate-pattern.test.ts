import { expect, test } from 'vitest'
import { translatePattern } from './translate-pattern.ts'

test.each([
  ['[[:alpha:]_]+', 'ab_1', 'ab_'],
  ['[^[:space:]]+', ' ab c', 'ab'],
  ['[[:punct:]]', 'a]', ']'],
  ['[]a]+', 'x]a]', ']a]'],
  ['[^]a]', ']ab', 'b'],
  ['\\Aab\\z', 'ab', 'ab'],
  ['\\<is\\>', 'this is', 'is'],
  ['a\\hb', 'a\tb', 'a\tb'],
  ['(?P<word>\\w)(?P=word)?', 'ab', 'a'],
  ['\\[[:a]', '[:', '[:'],
  ['\\\\[[:digit:]]', '\\7', '\\7'],
  ['[\\]]', ']', ']'],
])('%s means what it says elsewhere', (pattern, text, found) => {
  expect(new RegExp(translatePattern(pattern)).exec(text)?.[0]).toBe(found)
})

test.each(['a.b*[c-d]{2,3}', '\\d+\\.[^\\s"]+', '(?<n>x)|(?:y)', '[', '\\', '[[', '[a\\'])(
  '%s stays as it is',
  (pattern) => {
    expect(translatePattern(pattern)).toBe(pattern)
  },
)
