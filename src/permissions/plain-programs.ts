import { plainSystemTools } from './plain-system-tools.ts'
import { plainTextTools } from './plain-text-tools.ts'

/**
 * A positive grammar of one read-only program. A flag must match one of `flags` wholly; one that matches a key of
 * `valued` takes the next word, which must match. What else there is are operands.
 */
export type PlainProgram = {
  flags: RegExp[]
  /** `isPath`: the value is judged as an operand. */
  valued?: { flag: RegExp; value: RegExp; isPath?: true }[]
  /** `paths`: each leads into the worktree. `pattern`: the first is a pattern unless a flag gave it. `text`: anything. `none`: no operand. */
  operands: 'paths' | 'pattern' | 'revisions' | 'text' | 'none'
  /** With `text`: flags are text as well. */
  anyFlag?: true
  /** A flag that gives the pattern, or (like `--list`) makes operands harmless. */
  patternFlag?: RegExp
  /** What the pattern must look like. */
  pattern?: RegExp
  /** What every word must look like. */
  words?: RegExp
  /** The first word must look like this. */
  needed?: RegExp
  /** How many operands there may be. */
  most?: number
  /** Shows the content of files that it is not told by name: always, or with a flag. */
  tree?: boolean | RegExp
}

const anything = /^/
const count = /^[+-]?\d+[bkKMG]?$/
const color = /^--colou?r(=(always|never|auto))?$/

const headOrTail: PlainProgram = {
  flags: [/^-[qvz]+$/, /^-[qvz]*[nc]?[+-]?\d+$/, /^--(lines|bytes)=[+-]?\d+$/, /^--(quiet|silent|verbose)$/],
  valued: [{ flag: /^-[qvz]*[nc]$/, value: count }],
  operands: 'paths',
}

const grepLong =
  'extended-regexp|fixed-strings|basic-regexp|perl-regexp|ignore-case|no-ignore-case|word-regexp|line-regexp|no-messages|invert-match|' +
  'line-number|byte-offset|with-filename|no-filename|only-matching|quiet|silent|text|recursive|files-without-match|files-with-matches|count|null'

const grep: PlainProgram = {
  flags: [
    /^-[EFGPiInrHhlLcowvxsqabyZ]+$/,
    /^-[EFGPiInrHhlLcowvxsqabyZ]*[ABCm]?\d+$/,
    new RegExp(`^--(${grepLong})$`),
    /^--(context|after-context|before-context|max-count)=\d+$/,
    /^--(include|exclude|exclude-dir|regexp)=/s,
    color,
  ],
  valued: [
    { flag: /^-[EFGPiInrHhlLcowvxsqabyZ]*[ABCm]$/, value: /^\d+$/ },
    { flag: /^-[EFGPiInrHhlLcowvxsqabyZ]*e$/, value: anything },
    { flag: /^--(include|exclude|exclude-dir|regexp)$/, value: anything },
  ],
  operands: 'pattern',
  patternFlag: /^(-[EFGPiInrHhlLcowvxsqabyZ]*e$|--regexp(=|$))/s,
  tree: /^(-[A-Za-z]*r|--recursive)/,
}

const rgLong =
  'ignore-case|smart-case|case-sensitive|line-number|no-line-number|fixed-strings|word-regexp|line-regexp|invert-match|count|count-matches|' +
  'files-with-matches|files-without-match|only-matching|with-filename|no-filename|heading|no-heading|hidden|no-ignore|no-ignore-vcs|' +
  'multiline|pcre2|files|json|stats|trim|vimgrep|column|quiet|no-messages|null|text|no-config|no-follow'

const rg: PlainProgram = {
  flags: [
    /^-[iSsnNFwxvclHIoPUu0aq]+$/,
    /^-[iSsnNFwxvclHIoPUu0aq]*[ABCm]\d+$/,
    new RegExp(`^--(${rgLong})$`),
    /^--(context|after-context|before-context|max-count|max-depth|max-columns)=\d+$/,
    /^--(glob|iglob|type|type-not|regexp|sort|sortr)=/s,
    color,
  ],
  valued: [
    { flag: /^-[iSsnNFwxvclHIoPUu0aq]*[ABCmdM]$/, value: /^\d+$/ },
    { flag: /^-[iSsnNFwxvclHIoPUu0aq]*[egtT]$/, value: anything },
    { flag: /^--(context|after-context|before-context|max-count|max-depth|max-columns)$/, value: /^\d+$/ },
    { flag: /^--(glob|iglob|type|type-not|regexp|sort|sortr)$/, value: anything },
  ],
  operands: 'pattern',
  patternFlag: /^(-[iSsnNFwxvclHIoPUu0aq]*e$|--regexp(=|$)|--files$)/s,
  tree: true,
}

const lsLong =
  'all|almost-all|author|escape|directory|classify|file-type|full-time|group-directories-first|no-group|human-readable|si|inode|' +
  'literal|numeric-uid-gid|quote-name|recursive|reverse|size|format=\\w+|sort=\\w+|time=\\w+|time-style=[\\w-]+'

const ls: PlainProgram = {
  flags: [/^-[1AaBbCcdFfGghiklmNnopQqRrSstUuvXx]+$/, new RegExp(`^--(${lsLong})$`), color],
  operands: 'paths',
}

const cat: PlainProgram = {
  flags: [/^-[AbEensTtuv]+$/, /^--(show-(all|ends|tabs|nonprinting)|number(-nonblank)?|squeeze-blank)$/],
  operands: 'paths',
}

/** Programs whose every allowed use only reads, by name. */
export const plainPrograms: ReadonlyMap<string, PlainProgram> = new Map<string, PlainProgram>([
  ['ls', ls],
  ['cat', cat],
  ['head', headOrTail],
  ['tail', headOrTail],
  ['grep', grep],
  ['egrep', grep],
  ['fgrep', grep],
  ['rg', rg],
  ...Object.entries(plainTextTools),
  ...Object.entries(plainSystemTools),
])
