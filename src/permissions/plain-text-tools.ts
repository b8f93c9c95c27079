import type { PlainProgram } from './plain-programs.ts'

const anything = /^/
const number = /^\d+$/
const list = /^[\d,-]+$/

// One address or two, printed: no other command of sed, some of which write files and run programs.
const sedScript = /^ *(\d+|\$)( *, *(\+?\d+|\$))? *[pq] *(; *(\d+|\$)( *, *(\+?\d+|\$))? *[pq] *)*;? *$/
// Prints fields: awk can run programs and write files.
const awkScript = /^(NR *[=<>!]=? *\d+ *)?(\{ *print( *\$(\d+|NF))?( *, *\$(\d+|NF))* *;? *\})?$/
// Modules of jq are files.
const jqFilter = /^(?!.*\b(import|include|input_filename|env)\b)(?!.*\$(ENV|__prog))/s

/** Programs that print text, of files or of what is piped into them. */
export const plainTextTools: Record<string, PlainProgram> = {
  wc: { flags: [/^-[clmLw]+$/, /^--(bytes|chars|lines|max-line-length|words)$/], operands: 'paths' },
  sort: {
    flags: [
      /^-[bdfghiMnRrVcCmsuz]+$/,
      /^-k[\d.,bdfginrMhV]+$/,
      /^-t.$/s,
      /^--(reverse|unique|numeric-sort|version-sort|human-numeric-sort|ignore-case|stable)$/,
    ],
    valued: [
      { flag: /^-[bdfghiMnRrVsuz]*k$/, value: /^[\d.,bdfginrMhV]+$/ },
      { flag: /^-[bdfghiMnRrVsuz]*t$/, value: /^.{1,2}$/s },
    ],
    operands: 'paths',
  },
  uniq: {
    flags: [/^-[cdDiuz]+$/, /^-[fsw]\d+$/, /^--(count|repeated|unique|ignore-case)$/],
    valued: [{ flag: /^-[fsw]$/, value: number }],
    operands: 'paths',
    most: 1,
  },
  cut: {
    flags: [
      /^-[sz]$/,
      /^-[bcf][\d,-]+$/,
      /^-d.$/s,
      /^--(complement|only-delimited)$/,
      /^--(delimiter|output-delimiter|fields|characters|bytes)=/s,
    ],
    valued: [
      { flag: /^-[bcf]$/, value: list },
      { flag: /^-d$/, value: /^.$/s },
    ],
    operands: 'paths',
  },
  tr: { flags: [/^-[cCdst]+$/], operands: 'text' },
  nl: { flags: [/^-[bhf][atn]$/, /^-[iswv]\d+$/], operands: 'paths' },
  tac: { flags: [], operands: 'paths' },
  rev: { flags: [], operands: 'paths' },
  fold: { flags: [/^-[bs]+$/, /^-s?w\d+$/], valued: [{ flag: /^-s?w$/, value: number }], operands: 'paths' },
  column: { flags: [/^-[tx]+$/], valued: [{ flag: /^-t?[sc]$/, value: anything }], operands: 'paths' },
  paste: { flags: [/^-s$/, /^-s?d.+$/s], valued: [{ flag: /^-s?d$/, value: anything }], operands: 'paths' },
  comm: { flags: [/^-[123]+$/], operands: 'paths' },
  cmp: { flags: [/^-[bls]+$/], operands: 'paths', most: 2 },
  diff: {
    flags: [
      /^-[uNqbBwiaydcsEZt]+$/,
      /^-[UC]\d+$/,
      /^--(brief|unified|side-by-side|ignore-all-space|suppress-common-lines|color(=\w+)?)$/,
      /^--(unified|width)=\d+$/,
    ],
    valued: [{ flag: /^-[UCW]$/, value: number }],
    operands: 'paths',
    tree: true,
  },
  sed: { flags: [/^-[nEr]*n[Er]*$/, /^--(quiet|silent)$/], operands: 'pattern', pattern: sedScript },
  awk: { flags: [/^-F.+$/s], valued: [{ flag: /^-F$/, value: anything }], operands: 'pattern', pattern: awkScript },
  jq: {
    flags: [/^-[rceSsnMCRja]+$/, /^--(raw-output|compact-output|slurp|sort-keys|tab|exit-status)$/],
    operands: 'pattern',
    pattern: jqFilter,
  },
  md5sum: { flags: [/^-[bt]$/], operands: 'paths' },
  sha1sum: { flags: [/^-[bt]$/], operands: 'paths' },
  sha256sum: { flags: [/^-[bt]$/], operands: 'paths' },
  cksum: { flags: [], operands: 'paths' },
  od: {
    flags: [/^-[abcdfiloxv]+$/, /^-[Ax]?[dnox]?$/, /^-N\d+$/],
    valued: [{ flag: /^-[NAtj]$/, value: /^\w+$/ }],
    operands: 'paths',
  },
  hexdump: { flags: [/^-[Cbcdox]+$/, /^-n\d+$/], valued: [{ flag: /^-[ns]$/, value: number }], operands: 'paths' },
  xxd: {
    flags: [/^-[bpu]$/, /^-[lsc]\d+$/],
    valued: [{ flag: /^-[lsc]$/, value: number }],
    operands: 'paths',
    most: 1,
  },
}
