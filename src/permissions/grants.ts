import { homedir } from 'node:os'
import { dirname, sep } from 'node:path'
import type { Rule } from '../core/permission.ts'
import { isProtected } from './protected-path.ts'
import { quoteWords } from './shell/quote-words.ts'
import { isWild } from './wildcard.ts'

const maxExact = 500
const unreadable = /[\p{Cc}\p{Cf}]/u

/** Programs of which a yes to one use is a yes to any: their arguments pass the path gate, and none runs another program. */
const plain = new Set(
  (
    'ls cat head tail wc pwd echo printf grep rg tree stat file du df diff cmp uniq cut tr nl date basename dirname ' +
    'realpath readlink which whoami id uname seq sleep true false mkdir touch cp pytest tsc eslint vitest jest mypy ruff ' +
    'biome prettier black gofmt rustfmt shellcheck'
  ).split(' '),
)

/** Programs of many commands: those of their sub-commands that neither delete, nor publish, nor run what they are told. */
const multi: Record<string, Set<string>> = {
  git: new Set(
    'status log diff show add commit blame branch tag switch stash describe shortlog ls-files rev-parse'.split(' '),
  ),
  npm: new Set('test run ls list outdated view'.split(' ')),
  pnpm: new Set('test run ls list'.split(' ')),
  yarn: new Set('test run list'.split(' ')),
  bun: new Set('test run'.split(' ')),
  cargo: new Set('build test check clippy fmt doc bench tree'.split(' ')),
  go: new Set('build test vet fmt list doc'.split(' ')),
  dotnet: new Set('build test'.split(' ')),
  pip: new Set('list show freeze'.split(' ')),
}

/** What an "always" to this stores for the session tree; undefined when it can only be answered each time. */
export function grantFor(key: string, pattern: string): Rule | undefined {
  const stored = storedPattern(key, pattern)
  return stored === undefined ? undefined : { key, pattern: stored, action: 'allow', source: 'session' }
}

/**
 * The same for one command, by its words: those that any use shares, when it is a program that allows for it and `isOpen`
 * (nothing speaks against a rule with a star); else exactly these.
 */
export function grantForCommand(argv: string[], isOpen: boolean): Rule | undefined {
  const prefix = isOpen ? sharedWords(argv) : undefined
  const words = prefix ?? argv
  if (words.some((word) => unreadable.test(word)) || words.join(' ').length > maxExact) return undefined
  const text = quoteWords(words)
  const rule = { key: 'bash', action: 'allow', source: 'session', argv: words } as const
  return prefix === undefined ? { ...rule, pattern: text } : { ...rule, pattern: `${text} *`, more: true }
}

/** True when a stored answer is about a command of these words; one with more words only where the command is open to it. */
export function covers({ argv: stored, more }: Rule, argv: string[], isOpen: boolean): boolean {
  if (stored === undefined || (more ? !isOpen : argv.length !== stored.length)) return false
  return stored.every((word, n) => word === argv[n])
}

/**
 * Stored answers about commands, as words. Older journals hold them as text: what ends in ` *` becomes words; the others
 * are exact texts, and stay rules.
 */
export function storedWords({ key, pattern, action, argv, ...rest }: Rule): Rule | undefined {
  if (key !== 'bash' || action !== 'allow') return undefined
  if (Array.isArray(argv)) return { key, pattern, action, argv, ...rest }
  const words = /^[^*?]+ \*$/.test(pattern) ? pattern.slice(0, -2).split(' ') : undefined
  return words && { key, pattern, action, argv: words, more: true, ...rest }
}

function storedPattern(key: string, pattern: string): string | undefined {
  if (key === 'edit') return isProtected(pattern) ? undefined : '*'
  if (key === 'external_directory') return folderPattern(pattern)
  if (key === 'webfetch') return originPattern(pattern)
  return exact(pattern)
}

function sharedWords([program, sub, script]: string[]): string[] | undefined {
  if (plain.has(program!)) return [program!]
  if (sub === undefined || !Object.hasOwn(multi, program!) || !multi[program!]!.has(sub)) return undefined
  if (sub !== 'run') return [program!, sub]
  return script !== undefined && /^[\w:.-]+$/.test(script) && !script.startsWith('-')
    ? [program!, sub, script]
    : undefined
}

// There is no way to write a literal star: such a text cannot be stored.
function exact(text: string): string | undefined {
  return isWild(text) || text.length > maxExact || unreadable.test(text) ? undefined : text
}

function folderPattern(path: string): string | undefined {
  const folder = dirname(path)
  if (folder === sep || folder === homedir() || !path.startsWith(sep)) return exact(path)
  return exact(folder) === undefined ? undefined : `${folder}/*`
}

function originPattern(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const { protocol, origin, username, password } = new URL(address)
  const isWeb = protocol === 'http:' || protocol === 'https:'
  // Only an address that is written as it is understood: the pattern is matched against text.
  return isWeb && username + password === '' && address.startsWith(`${origin}/`) ? `${origin}/*` : undefined
}
