import { homedir } from 'node:os'
import { dirname, sep } from 'node:path'
import type { PermissionRequest, Rule } from '../core/permission.ts'
import { findHazard } from './hazards.ts'
import { isProtected } from './protected-path.ts'
import { lexCommand, type Word } from './shell-words.ts'
import { isWild } from './wildcard.ts'

const maxExact = 500

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

/** What an "always" to this request stores for the session tree; undefined when it can only be answered each time. */
export function grantFor({ key, pattern }: PermissionRequest): Rule | undefined {
  const stored = storedPattern(key, pattern)
  return stored === undefined ? undefined : { key, pattern: stored, action: 'allow', source: 'session' }
}

function storedPattern(key: string, pattern: string): string | undefined {
  if (key === 'bash') return bashPattern(pattern.trim())
  if (key === 'edit') return isProtected(pattern) ? undefined : '*'
  if (key === 'external_directory') return folderPattern(pattern)
  if (key === 'webfetch') return originPattern(pattern)
  return exact(pattern)
}

function bashPattern(command: string): string | undefined {
  const lexed = lexCommand(command)
  if (!lexed.simple || findHazard(lexed.words) !== undefined) return exact(command)
  return commandPrefix(lexed.words) ?? exact(command)
}

function commandPrefix(words: Word[]): string | undefined {
  const [program, sub, script] = words.map(({ text }) => text)
  if (plain.has(program!)) return `${program} *`
  if (sub === undefined || !multi[program!]?.has(sub)) return undefined
  if (sub !== 'run') return `${program} ${sub} *`
  return script !== undefined && /^[\w:.-]+$/.test(script) && !script.startsWith('-')
    ? `${program} run ${script} *`
    : undefined
}

// There is no way to write a literal star: such a text cannot be stored.
function exact(text: string): string | undefined {
  return isWild(text) || text.length > maxExact || /[\p{Cc}\p{Cf}]/u.test(text) ? undefined : text
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
