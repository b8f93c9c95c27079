import { basename } from 'node:path'
import type { Word } from './shell-words.ts'
import { wrappers } from './spellings.ts'

/** Flags that make a program run another, or write where it is told: a rule with a star does not cover them. */
const hazards: Record<string, RegExp> = {
  git: /^(-c.*|--config-env.*|--exec.*|--ou.*|--ext-d.*|--textc.*|--no-ind.*|--upl.*|--rece.*|--open-f.*|-[Ox].*|ext::.*)$/s,
  find: /^-(exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls|files0-from)$/,
  rg: /^(--pre|--hostname-bin|--search-zip|-[A-Za-z0]*z)/,
  sort: /^--com/,
  tar: /^(--to-com|--checkpoint-a|--use-com|-I|--rsh|-[A-Za-z]*F|--info-s|--new-vol)/,
  go: /^--?(exec|toolexec|vettool)/,
  man: /^(-[A-Za-z]*[PH]|--pager|--html)/,
}

/** Commands of git that run what they are told, or change what git itself will run. */
const gitCommands = new Set('config submodule filter-branch difftool mergetool daemon bisect'.split(' '))
const maxWords = 500

/** Why no rule with a star may allow this command; undefined when one may. */
export function findHazard(words: Word[]): string | undefined {
  const [head, ...rest] = words
  const program = basename(head!.text)
  if (words.length > maxWords) return 'it has very many words'
  if (wrappers.has(program)) return `${program} runs other programs`
  const hazard = rest.find(({ text }) => hazards[program]?.test(text) || (program === 'git' && gitCommands.has(text)))
  return hazard === undefined ? undefined : `${program} ${hazard.text} may run programs or write files`
}
