import { isInertRepository } from './inert-repository.ts'
import { createPathGate, type PathGate } from './path-gate.ts'
import { plainGit } from './plain-git.ts'
import { type PlainProgram, plainPrograms } from './plain-programs.ts'
import { expandGlob } from './shell/expand-glob.ts'
import type { Word } from './shell/words.ts'

/** What a plain read-only command reads: files named, relative to where it runs, and whether it shows others as well. */
export type PlainCommand = { paths: string[]; tree: boolean }

const maxWords = 2000

/**
 * What a command reads that only reads, and only inside the worktree `dir`: one program of a short list, with flags that
 * are known to be harmless, each path leading into the worktree. Anything else, or anything unclear, is undefined.
 */
export function findPlainCommand(words: Word[], dir: string, cwd = dir): PlainCommand | undefined {
  const [head, ...rest] = words
  if (head === undefined || head.glob || head.tilde || head.dynamic) return undefined
  const isGit = head.text === 'git'
  const { program, args } = isGit ? findGit(rest) : { program: plainPrograms.get(head.text), args: rest }
  const texts = program && literalTexts(args, program, dir, cwd)
  const operands = program && texts && parseOperands(program, texts)
  if (operands === undefined) return undefined
  const gate = createPathGate(dir, cwd)
  if (!gate.isInside('.') || (isGit && !isInertRepository(cwd))) return undefined
  return judgeOperands(program!, operands, gate)
}

/** The grammar of the sub-command, and what comes after it; `--no-pager` changes nothing. */
function findGit(words: Word[]): { program?: PlainProgram; args: Word[] } {
  const [sub, ...args] = words[0]?.text === '--no-pager' ? words.slice(1) : words
  const program = sub === undefined || sub.dynamic ? undefined : plainGit.get(sub.text)
  return program === undefined ? { args } : { program, args }
}

/** The words that the program will see; undefined where that cannot be told. What only prints its words may get any. */
function literalTexts(words: Word[], program: PlainProgram, dir: string, cwd: string): string[] | undefined {
  const texts: string[] = []
  for (const [n, word] of words.entries()) {
    const { text, glob, tilde, dynamic } = word
    const isText = program.operands === 'text' && (n > 0 || program.anyFlag === true)
    if ((dynamic || tilde) && !isText) return undefined
    if (isText && !listsInside(word, dir, cwd)) return undefined
    const expanded = glob && !isText ? expandGlob(text, cwd) : [text]
    if (expanded === undefined || texts.length + expanded.length > maxWords) return undefined
    texts.push(...expanded)
  }
  return texts
}

/** What is printed where the shell makes names of files of a word: only those of the worktree. */
function listsInside({ text, raw, glob, tilde, dynamic }: Word, dir: string, cwd: string): boolean {
  // What is quoted lists nothing.
  const isList = glob || (dynamic && /[*?[]/.test(raw.replace(/"(?:[^"\\]|\\.)*"|'[^']*'|\$[?*]/gs, '')))
  if (!isList) return true
  const names = tilde || dynamic ? undefined : expandGlob(text, cwd)
  const gate = createPathGate(dir, cwd)
  return names?.every((name) => gate.isInside(name)) === true
}

type Operands = { texts: string[]; patternGiven: boolean; tree: boolean }

function parseOperands(program: PlainProgram, words: string[]): Operands | undefined {
  const texts: string[] = []
  let patternGiven = false
  const { tree: treeFlag } = program
  const tree = treeFlag instanceof RegExp ? words.some((word) => treeFlag.test(word)) : treeFlag === true
  if (program.words && !words.every((word) => program.words!.test(word))) return undefined
  if (program.needed && !program.needed.test(words[0] ?? '')) return undefined
  if (program.operands === 'text' && program.anyFlag) return { texts, patternGiven: true, tree }
  for (let n = 0; n < words.length; n++) {
    const text = words[n]!
    if (text === '--') {
      texts.push(...words.slice(n + 1))
      break
    }
    if (program.operands === 'text' && texts.length > 0) break
    if (!text.startsWith('-') || text === '-') {
      texts.push(text)
      continue
    }
    patternGiven ||= program.patternFlag?.test(text) === true
    if (program.flags.some((flag) => flag.test(text))) continue
    const valued = program.valued?.find(({ flag }) => flag.test(text))
    const value = words[++n]
    if (valued === undefined || value === undefined || !valued.value.test(value)) return undefined
    if (valued.isPath) texts.push(value)
  }
  return { texts, patternGiven, tree }
}

function judgeOperands(
  program: PlainProgram,
  { texts, patternGiven, tree }: Operands,
  gate: PathGate,
): PlainCommand | undefined {
  const { operands, pattern, most = Number.POSITIVE_INFINITY } = program
  if (operands === 'none') return texts.length === 0 || patternGiven ? { paths: [], tree: false } : undefined
  if (operands === 'text') return { paths: [], tree: false }
  const takesPattern = operands === 'pattern' && !patternGiven
  if (takesPattern && pattern !== undefined && !pattern.test(texts[0] ?? '')) return undefined
  const paths = takesPattern ? texts.slice(1) : texts
  if (paths.length > most || paths.some((path) => path === '' || path === '-' || !gate.isInside(path))) return undefined
  return { paths: operands === 'revisions' ? [] : paths, tree }
}
