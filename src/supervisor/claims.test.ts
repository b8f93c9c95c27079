import { expect, test } from 'vitest'
import { covers, overlaps } from './claims.ts'

test.each([
  ['/w/src/auth/**', '/w/src/auth/login.ts', true],
  ['/w/src/auth', '/w/src/auth/login.ts', true],
  ['/w/src/auth', '/w/src/authors.ts', false],
  ['/w/src/*.ts', '/w/src/deep/a.js', true],
  ['/w/src/au*', '/w/src/auth/login.ts', true],
  ['/w/**/*.md', '/w/docs/a.md', true],
  ['/w/src/**', '/w/docs/**', false],
  ['/w/a.ts', '/w/a.ts', true],
  ['/w/a.ts', '/w/a.tsx', false],
  ['/w/{a,b}/**', '/w/c/**', true],
])('claims %s and %s overlap by their literal prefixes: %s', (one, other, expected) => {
  expect(overlaps(one, other)).toBe(expected)
  expect(overlaps(other, one)).toBe(expected)
})

test.each([
  ['src/auth/**', '/w/src/auth/deep/login.ts', true],
  ['src/auth/**', '/w/src/auth.ts', false],
  ['src/auth', '/w/src/auth/login.ts', true],
  ['src/*.ts', '/w/src/a.ts', true],
  ['src/*.ts', '/w/src/deep/a.ts', false],
  ['**/*.md', '/w/.github/a.md', true],
  ['./a.ts', '/w/a.ts', true],
  ['../x/**', '/x/a.ts', true],
])('the claim %s holds %s: %s', (glob, path, expected) => {
  expect(covers({ globs: [glob], dir: '/w' }, path)).toBe(expected)
})
