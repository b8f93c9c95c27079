import { basename, relative } from 'node:path'
import type { Action, PermissionRequest, Rule } from '../core/permission.ts'
import { covers, grantFor, grantForCommand } from './grants.ts'
import { findHazard, losesWork, mayEvaluate } from './hazards.ts'
import type { Part } from './judged-part.ts'
import { looseOutsidePaths, outsidePaths, pathsOf } from './outside-paths.ts'
import { createPathGate, realTarget } from './path-gate.ts'
import { findPlainCommand, type PlainCommand } from './plain-command.ts'
import { isProtected } from './protected-path.ts'
import { isBare, isStricter, type RuleBook, type Verdict } from './resolve-rules.ts'
import { expandGlob } from './shell/expand-glob.ts'
import { textOfWords } from './shell/quote-words.ts'
import { readCommand } from './shell/read-command.ts'
import type { Redirect, Script, ShellUnit } from './shell/script.ts'
import { trimBlanks } from './shell/trim-blanks.ts'
import type { Word } from './shell/words.ts'
import { looseSpellings, spellings } from './spellings.ts'
import { isWild } from './wildcard.ts'

/** What judges commands: the rules, the stored answers that are words, and the worktree. */
export type CommandJudge = {
  book: RuleBook
  answers: Rule[]
  dir: string
  /** `guarded`: an edit that is asked about whatever the rules allow. */
  judgeOther(key: string, pattern: string, guarded?: boolean): Part
}

const maxUnits = 100
const maxWords = 400
const maxGlobs = 12
const copiers = new Set('cp mv install ln tee dd rsync sponge'.split(' '))
const sinks = /^\/dev\/(null|stdout|stderr|tty|fd\/[012])$/

/**
 * All that a command line wants: each of its commands, each file that the shell itself opens, what it leads to outside of
 * the worktree, and why it is not understood, where it is not.
 */
export function judgeCommand(judge: CommandJudge, request: PermissionRequest): Part[] {
  const command = trimBlanks(request.pattern)
  const folder = request.cwd ?? judge.dir
  const script = bounded(readCommand(request.pattern, folder))
  const whole = judgeWhole(judge, command, script)
  const units = script.units.flatMap((unit) => judgeUnit(judge, unit))
  const redirects = script.redirects.flatMap((redirect) => judgeRedirect(judge, redirect))
  const loose = script.problems.length > 0 ? looseOutsidePaths(command, judge.dir, folder) : []
  const outside = loose.map((path) => judge.judgeOther('external_directory', path))
  const denied = script.problems.length > 0 ? looseDenials(judge, command, folder) : []
  return distinct([...settle(whole, units), ...redirects, ...outside, ...denied])
}

const maxLoose = 100

/** Files that a line which is not understood seems to open, where a rule denies that. */
function looseDenials({ dir, judgeOther }: CommandJudge, command: string, cwd: string): Part[] {
  const found = [...command.matchAll(/(<>|>|<)[>|&]*[ \t]*([^\s;&|<>()]+)/g)].slice(0, maxLoose)
  return found
    .map(([, sign, word]) => {
      const path = inWorktree(word!.replace(/['"\\`]/g, ''), dir, cwd)
      return judgeOther(sign === '<' ? 'read' : 'edit', path)
    })
    .filter(({ verdict }) => verdict.action === 'deny')
}

/** Of what has very many parts only the first are looked at in full: it asks in any case. */
function bounded({ units, redirects, problems }: Script): Script {
  const words = units.flatMap(({ words, folders }) => folders.flatMap(() => words))
  const isSmall =
    units.length + redirects.length <= maxUnits &&
    words.length <= maxWords &&
    words.filter(({ glob }) => glob).length <= maxGlobs
  if (isSmall) return { units, redirects, problems }
  return { units: [], redirects: [], problems: ['it has very many parts', ...problems] }
}

/** `answer`: what an exact rule says of the whole line; `parts`: what is to be judged of it as a whole. */
type Whole = { answer?: Verdict; parts: Part[] }

function judgeWhole({ book }: CommandJudge, command: string, { units, problems }: Script): Whole {
  const verdict = book.resolve('bash', command, { admits: isExact })
  const isAnswered = verdict.action === 'allow' && verdict.rule !== undefined && isExact(verdict.rule)
  const why = problems[0]
  const isOne = units.length > 0 && why === undefined
  const spelled = isOne ? new Set([command]) : looseSpellings(command)
  const restricted = book.restricts('bash') ? restrictions(book, spelled, verdict.action) : []
  const grant = grantFor('bash', command)
  const part: Part[] = isOne
    ? []
    : [{ key: 'bash', pattern: command, verdict, grant, why: why ?? 'it only opens files' }]
  return { ...(isAnswered && { answer: verdict }), parts: [...part, ...restricted] }
}

/** An exact rule for the whole line answers for each command in it, but for what is denied. */
function settle({ answer, parts }: Whole, units: Part[]): Part[] {
  if (answer === undefined) return [...parts, ...units]
  return [...parts, ...units].map((part) =>
    part.key === 'bash' && part.verdict.action === 'ask' && part.spelled === undefined
      ? { ...part, verdict: answer }
      : part,
  )
}

function judgeUnit(judge: CommandJudge, unit: ShellUnit): Part[] {
  const { book, dir } = judge
  const { words, folders } = unit
  const pattern = textOfWords(words)
  const why = findHazard(unit)
  const plain = unit.hazard === undefined ? folders.map((folder) => findPlainCommand(words, dir, folder)) : [undefined]
  const isPlain = !mayEvaluate(words) && plain.every((found) => found !== undefined)
  const isOpen = why === undefined && !losesWork(words)
  const admits = (rule: Rule) => why === undefined || isExact(rule)
  const base = book.resolve('bash', pattern, { admits, plain: isPlain })
  const verdict = (base.action === 'ask' ? answered(judge, unit, isOpen) : undefined) ?? base
  const part: Part = {
    key: 'bash',
    pattern,
    verdict,
    grant: grantOf(unit, isOpen),
    why: isPlain ? undefined : why,
  }
  const spelled = book.restricts('bash') ? restrictions(book, spellingsOf(unit), verdict.action, admits) : []
  const around = isPlain
    ? plain.flatMap((found, n) => judgeReads(judge, found, folders[n]!))
    : folders.flatMap((folder) => judgeOperands(judge, words, folder))
  return [part, ...spelled, ...around]
}

/** A stored answer, or a rule that names a wrapper with what it runs, allows what would be asked. */
function answered(
  { book, answers }: CommandJudge,
  { words, wrapped, hazard }: ShellUnit,
  isOpen: boolean,
): Verdict | undefined {
  if (hazard !== undefined) return undefined
  const inner = isLiteral(words) ? words.map(({ text }) => text) : undefined
  const outer = wrapped && isLiteral(wrapped) ? wrapped.map(({ text }) => text) : undefined
  const rule = answers.find(
    (answer) => (inner && covers(answer, inner, isOpen)) || (outer && covers(answer, outer, false)),
  )
  if (rule !== undefined) return { action: 'allow', rule }
  const verdict = wrapped && book.resolve('bash', textOfWords(wrapped), { admits: isExact })
  return verdict?.action === 'allow' && verdict.rule !== undefined && isExact(verdict.rule) ? verdict : undefined
}

function grantOf({ words, wrapped, hazard }: ShellUnit, isOpen: boolean): Rule | undefined {
  const all = wrapped ?? words
  if (hazard !== undefined || !isLiteral(all)) return undefined
  return grantForCommand(
    all.map(({ text }) => text),
    isOpen && wrapped === undefined,
  )
}

function isLiteral(words: Word[]): boolean {
  return words.every(({ glob, tilde, dynamic }) => !glob && !tilde && !dynamic)
}

function isExact({ pattern }: Rule): boolean {
  return !isWild(pattern)
}

/** Other spellings only restrict, and only by a rule that names what it restricts. */
function restrictions(book: RuleBook, spelled: Set<string>, base: Action, admits?: (rule: Rule) => boolean): Part[] {
  const parts: Part[] = []
  for (const pattern of spelled) {
    const verdict = book.resolve('bash', pattern, { ...(admits && { admits }) })
    const isNamed = verdict.rule !== undefined && !isBare(verdict.rule)
    if (isNamed && isStricter(verdict.action, base)) parts.push({ key: 'bash', pattern, verdict, spelled: true })
  }
  return parts
}

/** The words as the shell would make them of the files that are there. */
function expandedTexts(words: Word[], folder: string): string[] {
  return words.flatMap(({ text, glob, dynamic }) => {
    const found = glob && !dynamic ? expandGlob(text, folder)?.slice(0, -1) : undefined
    return found?.length ? found : [text]
  })
}

function spellingsOf({ words, wrapped = [], source, folders }: ShellUnit): Set<string> {
  const texts = (list: Word[]) => list.map(({ text }) => text)
  const globbed = words.some(({ glob }) => glob) ? folders.map((folder) => expandedTexts(words, folder)) : []
  return new Set([
    ...spellings(texts(words)),
    ...globbed.flatMap((list) => [...spellings(list)]),
    ...spellings(texts(wrapped)),
    source,
    ...(wrapped.length > 0 ? looseSpellings(source) : []),
  ])
}

/** A plain command reads as the read tool does: under its rules. One that shows whole trees is no longer plain under any. */
function judgeReads({ book, dir, judgeOther }: CommandJudge, { paths, tree }: PlainCommand, cwd: string): Part[] {
  if (tree && book.restricts('read')) {
    return [{ key: 'read', pattern: '*', verdict: { action: 'ask' }, why: 'it may show files that a rule keeps' }]
  }
  return paths
    .map((path) => judgeOther('read', inWorktree(path, dir, cwd)))
    .filter(({ verdict }) => verdict.action !== 'allow')
}

function judgeOperands({ dir, judgeOther }: CommandJudge, words: Word[], cwd: string): Part[] {
  const outside = outsidePaths(words, dir, cwd).map((path) => judgeOther('external_directory', path))
  const guarded = words
    .slice(1)
    .flatMap((word) => pathsOf(word, cwd))
    .find((path) => isGuarded(inWorktree(path, dir, cwd), words[0]!))
  if (guarded === undefined) return outside
  const why = `${guarded} is protected`
  return [...outside, { key: 'edit', pattern: guarded, verdict: { action: 'ask' }, why }]
}

// What would be written is not known: a package's scripts may be among it.
function isGuarded(path: string, { text }: Word): boolean {
  return isProtected(path) || (basename(path) === 'package.json' && copiers.has(basename(text)))
}

/** The shell opens files as the read and the write tool do. */
function judgeRedirect({ dir, judgeOther }: CommandJudge, { word, writes, source, folders }: Redirect): Part[] {
  if (word.dynamic || word.glob) {
    return [
      {
        key: writes ? 'edit' : 'read',
        pattern: source,
        verdict: { action: 'ask' },
        why: 'it opens a file that is not named',
      },
    ]
  }
  return folders.flatMap((cwd) => {
    const [path] = pathsOf({ ...word, text: word.text }, cwd)
    if (path === undefined || sinks.test(path)) return []
    const target = inWorktree(path, dir, cwd)
    // What would be written is not known: a package's scripts may be among it.
    const part = judgeOther(writes ? 'edit' : 'read', target, basename(target) === 'package.json')
    const outside = createPathGate(dir, cwd).isInside(path)
      ? []
      : [judgeOther('external_directory', realTarget(path, cwd) ?? path)]
    return part.verdict.action === 'allow' && !writes ? outside : [part, ...outside]
  })
}

/** As the file tools name it: relative to the worktree, links followed. */
function inWorktree(path: string, dir: string, cwd: string): string {
  return relative(realTarget(dir, '/') ?? dir, realTarget(path, cwd) ?? path)
}

function distinct(parts: Part[]): Part[] {
  const seen = new Set<string>()
  return parts.filter(({ key, pattern, verdict, why }) => {
    const id = JSON.stringify([key, pattern, verdict.action, why])
    return !seen.has(id) && seen.add(id)
  })
}
