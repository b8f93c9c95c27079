import { expect, test } from 'vitest'
import { covers, overlaps, placed } from './claims.ts'

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
  expect(overlaps(placed('/w', one), placed('/w', other))).toBe(expected)
  expect(overlaps(placed('/w', other), placed('/w', one))).toBe(expected)
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
  ['.', '/w/a.ts', true],
  ['.', '/w2/a.ts', false],
  ['app/[id]/page.tsx', '/w/app/[id]/page.tsx', true],
  ['app/(auth)', '/w/app/(auth)/page.tsx', true],
])('the claim %s holds %s: %s', (glob, path, expected) => {
  expect(covers({ globs: [glob], dir: '/w' }, path)).toBe(expected)
})

test('a folder named like a wildcard is a name', () => {
  const dir = '/w/my (old) [project]'
  expect(covers({ globs: ['src/a.ts'], dir }, `${dir}/src/a.ts`)).toBe(true)
  expect(covers({ globs: ['src/*.ts'], dir }, `${dir}/src/a.ts`)).toBe(true)
  expect(covers({ globs: ['src/*.ts'], dir }, `${dir}/src/a.js`)).toBe(false)
  expect(overlaps(placed(dir, 'src/a.ts'), placed(dir, 'src/b.ts'))).toBe(false)
  expect(overlaps(placed(dir, 'src/*.ts'), placed(dir, `${dir}/src/b.ts`))).toBe(true)
})
