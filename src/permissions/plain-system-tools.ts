import type { PlainProgram } from './plain-programs.ts'

const anything = /^/
const number = /^\d+$/
const signed = /^[+-]?\d+[a-zA-Z]?$/
const nothing: PlainProgram = { flags: [], operands: 'none' }
const text: PlainProgram = { flags: [], operands: 'text' }
const anyText: PlainProgram = { flags: [], operands: 'text', anyFlag: true }
// Without a flag they run what is piped into them.
const version: PlainProgram = { flags: [/^--version$/], operands: 'none', needed: /^--version$/ }
const shortVersion: PlainProgram = { flags: [/^(--version|-v)$/], operands: 'none', needed: /^-/ }

// It can evaluate what looks like an array element, and would follow a path anywhere.
const testWord = /^[^[$`]*$/

const find: PlainProgram = {
  flags: [
    /^-(print|print0|not|o|or|a|and|prune|empty|quit|true|false|daystart|mount|xdev|depth|readable|executable|ls|P)$/,
  ],
  valued: [
    { flag: /^-(name|iname|path|ipath|wholename|iwholename|regex|iregex|regextype|printf|lname)$/, value: anything },
    { flag: /^-(type|xtype)$/, value: /^[bcdpfls](,[bcdpfls])*$/ },
    { flag: /^-(maxdepth|mindepth)$/, value: number },
    { flag: /^-(size|mtime|atime|ctime|mmin|amin|cmin|links)$/, value: signed },
    { flag: /^-perm$/, value: /^[-/+]?[\w=+,]+$/ },
    { flag: /^-(newer|anewer|cnewer|samefile)$/, value: anything, isPath: true },
  ],
  operands: 'paths',
}

/** Programs that tell about files and the system, and what the shell itself offers without effect on what comes later. */
export const plainSystemTools: Record<string, PlainProgram> = {
  find,
  pwd: { flags: [/^-[LP]$/], operands: 'none' },
  echo: anyText,
  printf: text,
  true: anyText,
  false: anyText,
  ':': anyText,
  cd: { flags: [], operands: 'paths', most: 1, words: /^[^-+]/ },
  test: { flags: [/^-(?![vR]$)[a-zA-Z]{1,2}$/], operands: 'paths', words: testWord },
  '[': { flags: [/^-(?![vR]$)[a-zA-Z]{1,2}$/], operands: 'paths', words: testWord },
  // Options that end a script early or print it; -o pipefail.
  set: { flags: [/^-[eux]+$/], valued: [{ flag: /^-[eux]*o$/, value: /^pipefail$/ }], operands: 'none' },
  exit: { flags: [], operands: 'paths', words: number, most: 1 },
  break: nothing,
  continue: nothing,
  wait: nothing,
  command: { flags: [/^-[vV]$/], operands: 'text', words: /^[\w.+-]+$/, needed: /^-[vV]$/ },
  type: { ...text, words: /^[\w.+-]+$/ },
  which: { flags: [/^-a$/], operands: 'text', words: /^[\w.+-]+$/ },
  basename: anyText,
  dirname: anyText,
  realpath: { flags: [/^-[emLPqsz]+$/], operands: 'paths' },
  readlink: { flags: [/^-[efmnqsvz]+$/], operands: 'paths' },
  stat: {
    flags: [/^-[Lft]+$/, /^--(format|printf)=/s, /^--(terse|dereference)$/],
    valued: [{ flag: /^-L?c$/, value: anything }],
    operands: 'paths',
  },
  file: { flags: [/^-[bikhN]+$/, /^--(brief|mime|mime-type|mime-encoding)$/], operands: 'paths' },
  du: {
    flags: [
      /^-[abchkmsSx]+$/,
      /^-[abchkmsSx]*d\d+$/,
      /^--max-depth=\d+$/,
      /^--(summarize|human-readable|total|all|apparent-size)$/,
      /^--exclude=/s,
    ],
    valued: [{ flag: /^-[abchkmsSx]*d$/, value: number }],
    operands: 'paths',
  },
  df: { flags: [/^-[ahikTPm]+$/], operands: 'paths' },
  tree: {
    flags: [/^-[adfhispugDFrtv]+$/, /^--(dirsfirst|noreport|du|si|prune|gitignore)$/],
    valued: [
      { flag: /^-L$/, value: number },
      { flag: /^-[IP]$/, value: anything },
    ],
    operands: 'paths',
  },
  date: {
    flags: [/^-[uR]+$/, /^-I\w*$/, /^--(utc|iso-8601(=\w+)?|rfc-3339=\w+|date=.*)$/s],
    valued: [{ flag: /^-u?d$/, value: anything }],
    operands: 'pattern',
    pattern: /^(\+.*)?$/s,
    most: 0,
  },
  seq: { flags: [/^-w$/, /^-s.+$/], operands: 'text', words: /^[-\w.,]+$/ },
  sleep: { flags: [], operands: 'paths', words: /^\d+(\.\d+)?s?$/ },
  uname: { flags: [/^-[amnoprsv]+$/], operands: 'none' },
  whoami: nothing,
  id: { flags: [/^-[ugnG]+$/], operands: 'none' },
  nproc: nothing,
  arch: nothing,
  hostname: nothing,
  uptime: nothing,
  node: shortVersion,
  npm: shortVersion,
  python: version,
  python3: version,
}
