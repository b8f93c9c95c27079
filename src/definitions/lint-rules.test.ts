import { expect, test } from 'vitest'
import type { Action, Rule } from '../core/permission.ts'
import { lintRules } from './lint-rules.ts'

type Written = [key: string, pattern: string, action: Action]

/** Each on a line of its own, from 1. */
function rules(path: string, ...written: Written[]): Rule[] {
  return written.map(([key, pattern, action], n) => ({
    key,
    pattern,
    action,
    source: 'project',
    place: { path, line: n + 1 },
  }))
}

const lines = (...[own, wider]: Parameters<typeof lintRules>) =>
  lintRules(own, wider).map(({ path, line, message }) => `${path}:${line}: ${message}`)

test('a rule that a later one covers is named with both lines', () => {
  expect(lines(rules('/p/troupe.yaml', ['read', 'secret.yml', 'deny'], ['read', '*', 'allow']))).toEqual([
    '/p/troupe.yaml:1: permission: read "secret.yml": deny can never win: read "*": allow (line 2) comes later and matches all of it. Put the wider one first.',
  ])
})

test('rules in the right order are not', () => {
  expect(lines(rules('f', ['read', '*', 'allow'], ['read', 'secret.yml', 'deny']))).toEqual([])
  expect(lines(rules('f', ['*', '*', 'allow'], ['edit', '*', 'ask']))).toEqual([])
  expect(lines(rules('f', ['bash', 'git *', 'allow'], ['bash', 'git push*', 'deny']))).toEqual([])
})

test('a later wildcard for keys covers too, and one of another key does not', () => {
  expect(lines(rules('f', ['bash', '*', 'ask'], ['*', '*', 'allow']))).toHaveLength(1)
  expect(lines(rules('f', ['bash', 'a', 'ask'], ['edit', '*', 'allow']))).toEqual([])
})

test('a star of a later rule takes no list of commands from the rule that names it to the letter', () => {
  expect(lines(rules('f', ['bash', 'npm ci && npm test', 'allow'], ['bash', '*', 'allow']))).toEqual([])
})

test('what a wider scope denies stays denied, and the rule that would loosen it is named', () => {
  const user = rules('/u/config.yaml', ['bash', 'git push*', 'deny'])
  expect(lines(rules('f', ['bash', 'git push origin', 'allow']))).toEqual([])
  expect(lines(rules('f', ['bash', 'git push origin', 'allow']), [user])).toEqual([
    'f:1: permission: bash "git push origin": allow can never win: bash "git push*": deny (/u/config.yaml:1) denies all of it, and that stays.',
  ])
  expect(lines(rules('f', ['bash', 'git *', 'allow']), [user])).toEqual([])
  expect(lines(rules('f', ['bash', 'git push origin', 'deny']), [user])).toEqual([])
})

test('a wider deny of which its own scope takes something back is no reason', () => {
  const user = rules('/u/config.yaml', ['edit', '*', 'deny'], ['edit', 'docs/*', 'allow'])
  expect(lines(rules('f', ['edit', '*.md', 'allow']), [user])).toEqual([])
  expect(lines(rules('f', ['edit', 'src/*', 'allow']), [user])).toHaveLength(1)
})

test.each<[string, string, string]>([
  ['edit', './src/*', 'Write "src/*".'],
  ['read', '~/notes', 'a ~ is not expanded'],
  ['edit', 'src/', 'Write "src/*".'],
  ['external_directory', '~/notes/*', 'absolute paths'],
  ['webfetch', 'docs.example.org', 'Write "https://docs.example.org/*".'],
  ['bash', ' ls', 'a blank'],
])('a pattern that fits nothing under its key is named: %s %s', (key, pattern, why) => {
  expect(lines(rules('f', [key, pattern, 'allow']))).toEqual([expect.stringContaining(why)])
})

test('patterns that fit are not', () => {
  const fitting: Written[] = [
    ['edit', '/srv/notes/*', 'allow'],
    ['read', '**/.env', 'deny'],
    ['external_directory', '/srv/*', 'allow'],
    ['webfetch', 'https://docs.example.org/*', 'allow'],
    ['webfetch', '*://other.example.org/*', 'deny'],
    ['bash', 'git *', 'allow'],
  ]
  expect(lines(rules('f', ...fitting))).toEqual([])
})
