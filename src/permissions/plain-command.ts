import { isInertRepository } from './inert-repository.ts'
import { createPathGate, type PathGate } from './path-gate.ts'
import { plainGit } from './plain-git.ts'
import { type PlainProgram, plainPrograms } from './plain-programs.ts'
import { lexCommand, type Word } from './shell-words.ts'

/** What a plain read-only command reads: files named, relative to where it runs, and whether it shows others as well. */
export type PlainCommand = { paths: string[]; tree: boolean }

/**
 * True for a command that only reads, and only inside the worktree `dir`: one program of a short list, with flags that
 * are known to be harmless, each path leading into the worktree. Anything else, or anything unclear, is false.
 */
export function isPlainReadOnly(command: string, dir: string, cwd = dir): boolean {
  return findPlainCommand(command, dir, cwd) !== undefined
}

export function findPlainCommand(command: string, dir: string, cwd = dir): PlainCommand | undefined {
  const lexed = lexCommand(command.trim())
  if (!lexed.simple || lexed.words.some(({ text, glob, tilde }) => glob || tilde || text.includes('\n')))
    return undefined
  const [head, ...rest] = lexed.words
  const isGit = head!.text === 'git'
  const program = isGit ? findGit(rest) : plainPrograms.get(head!.text)
  if (program === undefined) return undefined
  const operands = parseOperands(program, rest)
  if (operands === undefined) return undefined
  const gate = createPathGate(dir, cwd)
  if (!gate.isInside('.') || (isGit && !isInertRepository(cwd))) return undefined
  return judgeOperands(program, operands, gate)
}

/** The grammar of the sub-command, which is taken off the words together with `--no-pager`. */
function findGit(words: Word[]): PlainProgram | undefined {
  if (words[0]?.text === '--no-pager') words.shift()
  return plainGit.get(words.shift()?.text ?? '')
}

type Operands = { texts: string[]; patternGiven: boolean; recursive: boolean }

function parseOperands(program: PlainProgram, words: Word[]): Operands | undefined {
  if (program.operands === 'text') return { texts: [], patternGiven: true, recursive: false }
  const texts: string[] = []
  let patternGiven = false
  for (let n = 0; n < words.length; n++) {
    const { text } = words[n]!
    if (text === '--') {
      texts.push(...words.slice(n + 1).map((word) => word.text))
      break
    }
    if (!text.startsWith('-')) {
      texts.push(text)
      continue
    }
    patternGiven ||= program.patternFlag?.test(text) === true
    if (program.flags.some((flag) => flag.test(text))) continue
    const valued = program.valued?.find(({ flag }) => flag.test(text))
    const value = words[++n]?.text
    if (valued === undefined || value === undefined || !valued.value.test(value)) return undefined
  }
  return { texts, patternGiven, recursive: program.tree === true }
}

function judgeOperands(
  { operands }: PlainProgram,
  { texts, patternGiven, recursive }: Operands,
  gate: PathGate,
): PlainCommand | undefined {
  if (operands === 'none') return texts.length === 0 || patternGiven ? { paths: [], tree: false } : undefined
  const paths = operands === 'pattern' && !patternGiven ? texts.slice(1) : texts
  if (paths.some((path) => path === '' || path === '-' || !gate.isInside(path))) return undefined
  return { paths: operands === 'revisions' ? [] : paths, tree: recursive }
}
