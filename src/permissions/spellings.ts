import { basename } from 'node:path'

/** Programs that run another program, named by their arguments. */
export const wrappers: ReadonlySet<string> = new Set(
  (
    'env nice nohup timeout stdbuf setsid ionice chrt taskset unshare nsenter chroot flock sudo doas su runuser busybox ' +
    'xargs parallel time watch script strace ltrace gdb command builtin exec eval source . trap coproc alias enable ' +
    'bash sh dash zsh ksh fish ssh docker podman kubectl setpriv pkexec systemd-run run0 fakeroot unbuffer setarch linux32 ' +
    'linux64 prlimit proxychains proxychains4 firejail bwrap tini dumb-init dbus-run-session rlwrap entr hyperfine chronic ' +
    'valgrind perf numactl caffeinate sshpass catchsegv ash mksh csh tcsh rbash pwsh tmux screen at batch direnv'
  ).split(' '),
)

/** They do as well, but a rule with a star may be about them. */
const runners =
  /^((npx|pnpx|bunx|uvx|nix-shell) |((npm|pnpm|yarn|bun|bundle) (exec|x)|(uv|poetry|pipenv|pdm|hatch|rye) run) )/

const prefixes = new Set('! if then elif else while until do time coproc'.split(' '))
const assignment = /^[A-Za-z_]\w*\+?=/
const gitOptionsWithValue = new Set(
  '-C -c --git-dir --work-tree --namespace --exec-path --config-env --attr-source'.split(' '),
)
const finders = new Set('find fd fdfind'.split(' '))
const runFlag = /^(-exec|-execdir|-ok|-okdir|-[xX]|--exec|--exec-batch)$/
const maxRuns = 16
const maxSuffixes = 32
const maxTokens = 200
const maxParts = 20_000
const maxWrapped = 24
const maxFound = 8000

/**
 * Other spellings of one simple command, given as its words, for rules that restrict: without the folder of the program,
 * git's global options, and what stands before another program.
 */
export function spellings(tokens: string[]): Set<string> {
  const found = new Set<string>()
  addAll(found, tokens)
  return found
}

/**
 * The same for a command line that is not understood: each part between shell operators, without quotes. Made naively: it
 * may name too much, and a command that hides its program altogether is not found. Such a command asks in any case.
 */
export function looseSpellings(command: string): Set<string> {
  const found = new Set<string>([command])
  for (const tokens of parts(command)) {
    if (found.size < maxFound) addAll(found, tokens)
  }
  return found
}

/** Every word of a command that might be a path, found as naively. */
export function looseWords(command: string): string[] {
  return parts(command).flat()
}

/** What a search runs on each thing that it finds counts as well. */
function addAll(found: Set<string>, tokens: string[]): void {
  const at = programAt(tokens)
  addUnwrapped(found, tokens, at)
  if (!finders.has(basename(tokens[at] ?? ''))) return
  const runs = tokens.flatMap((token, n) => (runFlag.test(token) ? [n + 1] : [])).slice(0, maxRuns)
  for (const run of runs.map((from) => tokens.slice(from, from + maxTokens))) addUnwrapped(found, run, programAt(run))
}

function programAt(tokens: string[]): number {
  let at = 0
  while (at < tokens.length && (prefixes.has(tokens[at]!) || assignment.test(tokens[at]!))) at++
  return at
}

/** The words as they are, and from each word on that may be a program run by the one at `at`. */
function addUnwrapped(found: Set<string>, tokens: string[], at: number): void {
  const program = basename(tokens[at] ?? '')
  const isWrapped = wrappers.has(program) || runners.test(`${program} ${tokens[at + 1] ?? ''} `)
  const last = isWrapped ? Math.min(tokens.length, at + maxSuffixes) : at + 1
  add(found, tokens)
  for (let from = at; from < last; from++) {
    add(found, tokens.slice(from, from + (isWrapped && from > at ? maxWrapped : maxTokens)))
  }
}

function parts(command: string): string[][] {
  const found = new Set(command.split(/[;&|<>(){}`\n]+/, maxParts).map((part) => part.trim()))
  return [...found]
    .map((part) =>
      part
        .replace(/['"\\]/g, '')
        .split(/\s+/, maxTokens)
        .filter((token) => token !== ''),
    )
    .filter((tokens) => tokens.length > 0)
}

function add(found: Set<string>, all: string[]): void {
  const tokens = all.slice(0, maxTokens)
  if (tokens.length === 0) return
  const named = [basename(tokens[0]!), ...tokens.slice(1)]
  found.add(tokens.join(' '))
  found.add(named.join(' '))
  if (named[0] === 'git') found.add(['git', ...withoutGlobalOptions(named.slice(1))].join(' '))
}

function withoutGlobalOptions(args: string[]): string[] {
  let at = 0
  while (args[at]?.startsWith('-')) at += gitOptionsWithValue.has(args[at]!) ? 2 : 1
  return args.slice(at)
}
