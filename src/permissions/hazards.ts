import { basename } from 'node:path'
import type { ShellUnit } from './shell/script.ts'
import type { Word } from './shell/words.ts'
import { wrappers } from './spellings.ts'

/** Flags that make a program run another, or write where it is told: a rule with a star does not cover them. */
const hazards: Record<string, RegExp> = {
  git: /^(-c.*|--config-env.*|--exec.*|--ou.*|--ext-d.*|--textc.*|--no-ind.*|--upl.*|--rece.*|--open-f.*|-[Ox].*|ext::.*)$/s,
  find: /^-(exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls|files0-from)$/,
  fd: /^(-[A-Za-z]*[xX]|--exec.*)$/,
  rg: /^(--pre|--hostname-bin|--search-zip|-[A-Za-z0]*z)/,
  sort: /^--com/,
  tar: /^(--to-com|--checkpoint-a|--use-com|-I|--rsh|-[A-Za-z]*F|--info-s|--new-vol)/,
  go: /^--?(exec|toolexec|vettool)/,
  tree: /^(-[A-Za-z]*[oR]|--output)/,
  file: /^(-[A-Za-z]*[CS]|--com|--no-sandbox)/,
  date: /^(-[A-Za-z]*s|--s|\d)/,
  npm: /^--(script-|node-op|userc|globalc|git=|git$)/,
  cargo: /^(--config|-Z)/,
  prettier: /^--plugin/,
  man: /^(-[A-Za-z]*[PH]|--pager|--html)/,
}

/** Commands of git that run what they are told, or change what git itself will run. */
const gitCommands = new Set('config submodule filter-branch difftool mergetool daemon bisect'.split(' '))

/** What loses work, by the commands of git that mostly do not: flags, and commands of theirs. */
const gitLosses: Record<string, RegExp> = {
  branch: /^(-[A-Za-z]*[dDfMC]|--del|--fo)/,
  tag: /^(-[A-Za-z]*[df]|--del|--fo)/,
  stash: /^(drop|clear)$/,
  switch: /^(-[A-Za-z]*[Cf]|--fo|--di)/,
}

/** They set variables, or change what a later command means. */
const definers = new Set(
  'export declare typeset local readonly unset let read mapfile readarray getopts set shopt alias unalias enable hash trap umask ulimit bind complete popd pushd function'.split(
    ' ',
  ),
)

// They evaluate array subscripts inside their arguments, even quoted ones: test -v 'a[$(command)]' runs the command.
const evaluators = new Set('test [ [[ printf wait unset read let declare typeset'.split(' '))
const keywords = new Set(
  '! { } [[ ]] if then elif else fi for while until do done case esac select function in coproc'.split(' '),
)
const maxWords = 500

// sed's scripts can write files and run programs: addresses, p, d, q and plain substitutions cannot.
const sedFlag = /^-([nErsz]+|e)$/
const sedScript = /^([\d,$;pdq ]+|s([/|#])(?:(?!\2)[^\\\n]|\\.)*\2(?:(?!\2)[^\\\n]|\\.)*\2[gIip\d]*)$/

/** Why no rule with a star may allow this command; undefined when one may. */
export function findHazard({ words, hazard }: Pick<ShellUnit, 'words' | 'hazard'>): string | undefined {
  const [head, ...rest] = words
  if (head === undefined || head.text === '' || isOpen(head)) return 'its program is not named literally'
  const program = basename(head.text)
  if (words.length > maxWords) return 'it has very many words'
  if (hazard !== undefined) return hazard
  if (/\s/.test(head.text) || keywords.has(program)) return 'its program is not named plainly'
  if (wrappers.has(program)) return `${program} runs other programs`
  if (definers.has(program)) return `${program} changes what later commands do`
  if (mayEvaluate(words)) return `${program} may evaluate its arguments`
  const dangerous = program === 'sed' ? findInSed(rest) : rest.find(({ text }) => isDangerous(program, text))
  if (dangerous !== undefined) return `${program} ${dangerous.text} may run programs or write files`
  if (program === 'uniq' && rest.length > 1) return 'uniq may write its second file'
  return rest.some(({ dynamic }) => dynamic) ? 'it has an expansion' : undefined
}

/** True when a word may be an array's name with a command in its subscript. */
export function mayEvaluate([head, ...rest]: Word[]): boolean {
  if (head === undefined || !evaluators.has(basename(head.text))) return false
  return rest.some(({ raw }) => raw.includes('[') && /[$`]/.test(raw))
}

function isDangerous(program: string, text: string): boolean {
  return hazards[program]?.test(text) === true || (program === 'git' && gitCommands.has(text))
}

/** True for what throws work away: an "always" to its gentle uses is not about it. */
export function losesWork([head, command, ...rest]: Word[]): boolean {
  if (basename(head?.text ?? '') !== 'git') return false
  return rest.some(({ text }) => gitLosses[command?.text ?? '']?.test(text) === true)
}

function findInSed(words: Word[]): Word | undefined {
  const flags = words.filter(({ text }) => text.startsWith('-'))
  const others = words.filter(({ text }) => !text.startsWith('-'))
  const scripts = flags.some(({ text }) => text === '-e')
    ? words.filter((_, n) => words[n - 1]?.text === '-e')
    : others.slice(0, 1)
  return flags.find(({ text }) => !sedFlag.test(text)) ?? scripts.find(({ text }) => !sedScript.test(text))
}

function isOpen({ glob, tilde, dynamic }: Word): boolean {
  return glob || tilde || dynamic
}
