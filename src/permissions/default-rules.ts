import type { Rule } from '../core/permission.ts'

/**
 * What holds when nobody says otherwise. Plain read-only commands are allowed besides (`isPlainReadOnly`), and what lies
 * outside the worktree is judged under `external_directory` as well.
 */
export const defaultRules: Rule[] = [
  byDefault('*', 'ask'),
  byDefault('read', 'allow'),
  byDefault('skill', 'allow'),
  byDefault('task', 'allow'),
  byDefault('edit', 'ask'),
  byDefault('bash', 'ask'),
  byDefault('webfetch', 'ask'),
  byDefault('external_directory', 'ask'),
  byDefault('claim', 'ask'),
]

function byDefault(key: string, action: Rule['action']): Rule {
  return { key, pattern: '*', action, source: 'default' }
}
