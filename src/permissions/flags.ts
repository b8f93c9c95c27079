import { RuntimeError } from '../core/errors.ts'
import type { Rule } from '../core/permission.ts'
import { findKey, permissionKeys } from './keys.ts'

/** The rule of `--allow KEY:PATTERN` or `--deny KEY:PATTERN`; `KEY` alone means every pattern. Throws `bad-usage`. */
export function parseRuleFlag(text: string, action: 'allow' | 'deny'): Rule {
  const flag = `--${action} '${text}'`
  const colon = text.indexOf(':')
  const name = (colon === -1 ? text : text.slice(0, colon)).trim()
  const pattern = colon === -1 ? '*' : text.slice(colon + 1).trim()
  const key = name === '' ? undefined : findKey(name)
  if (key === undefined) throw badUsage(`${flag}: there is no key "${name}". Keys are ${permissionKeys.join(', ')}.`)
  if (pattern === '') throw badUsage(`${flag}: the pattern is missing. Write --${action} '${name}:*' for everything.`)
  if (/[\0-\x08\x0b-\x1f\x7f]/.test(pattern))
    throw badUsage(`${flag}: the pattern holds a control character. Remove it.`)
  return { key, pattern, action, source: 'flag' }
}

function badUsage(message: string): RuntimeError {
  return new RuntimeError('bad-usage', message)
}
