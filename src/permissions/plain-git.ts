import type { PlainProgram } from './plain-programs.ts'

const color = /^--(no-)?colou?r(=(always|never|auto))?$/
// A format with %G has gpg look at signatures.
const format = /^--(format|pretty)=(?!.*%[-+ ]?G)/s

const diffFlags = [
  /^-[pusabwzMCRD]$/,
  /^-U\d+$/,
  /^-[MC]\d+%?$/,
  /^--(patch|no-patch|stat|shortstat|numstat|summary|raw|name-only|name-status|compact-summary|dirstat|patch-with-stat)$/,
  /^--stat=\d+(,\d+)*$/,
  /^--unified=\d+$/,
  /^--(word-diff|color-words)(=\w+)?$/,
  /^--(minimal|patience|histogram|no-renames|find-renames|find-copies|full-index|text|check|exit-code|quiet|relative)$/,
  /^--(ignore-space-change|ignore-all-space|ignore-blank-lines|ignore-space-at-eol|function-context)$/,
  /^--(no-ext-diff|no-textconv)$/,
  /^--diff-filter=[A-Za-z]+$/,
  /^--diff-algorithm=\w+$/,
  color,
]

const logFlags = [
  ...diffFlags,
  /^-\d+$/,
  /^-n\d+$/,
  /^-[SG]./s,
  /^-[gicEFPm]$/,
  /^--(oneline|graph|no-graph|all|branches|tags|remotes|merges|no-merges|first-parent|reverse|follow|topo-order|date-order|full-history)$/,
  /^--(abbrev-commit|no-abbrev-commit|no-decorate|decorate|left-right|cherry-pick|name-only|no-notes|boundary|parents|children|cc)$/,
  /^--decorate=\w+$/,
  /^--abbrev=\d+$/,
  /^--(max-count|skip)=\d+$/,
  /^--(author|committer|grep|since|until|after|before|date)=/s,
  /^--(pretty)$/,
  format,
]

const logValued = [
  { flag: /^-n$/, value: /^\d+$/ },
  { flag: /^-[SG]$/, value: /./s },
]

/** Sub-commands of git of which every allowed use only reads, by name. */
export const plainGit: ReadonlyMap<string, PlainProgram> = new Map<string, PlainProgram>([
  [
    'status',
    {
      flags: [
        /^-[sbvz]+$/,
        /^-u(no|normal|all)?$/,
        /^--(short|branch|long|verbose|show-stash|ahead-behind|no-ahead-behind|renames|no-renames|ignored)$/,
        /^--porcelain(=(v1|v2|1|2))?$/,
        /^--untracked-files(=(no|normal|all))?$/,
        /^--ignored=\w+$/,
      ],
      operands: 'paths',
    },
  ],
  ['log', { flags: logFlags, valued: logValued, operands: 'revisions', tree: true }],
  ['show', { flags: logFlags, valued: logValued, operands: 'revisions', tree: true }],
  ['diff', { flags: [...diffFlags, /^--(cached|staged|merge-base)$/], operands: 'revisions', tree: true }],
  [
    'branch',
    {
      flags: [/^-(a|r|v|vv|av|avv|rv)$/, /^--(list|all|remotes|verbose|show-current|no-column|ignore-case)$/, color],
      operands: 'none',
      patternFlag: /^--list$/,
    },
  ],
  [
    'ls-files',
    {
      flags: [
        /^-[cdomstvz]+$/,
        /^--(cached|deleted|modified|others|stage|exclude-standard|full-name|error-unmatch|unmerged|directory)$/,
      ],
      operands: 'paths',
    },
  ],
  [
    'rev-parse',
    {
      flags: [
        /^--(short|verify|quiet|abbrev-ref|symbolic-full-name|show-toplevel|git-dir|is-inside-work-tree|show-prefix|show-cdup)$/,
        /^--short=\d+$/,
        /^-q$/,
      ],
      operands: 'revisions',
    },
  ],
  [
    'blame',
    {
      flags: [/^-[wselncfC]$/, /^-L[\d,+]+$/, color],
      valued: [{ flag: /^-L$/, value: /^[\d,+]+$/ }],
      operands: 'revisions',
      tree: true,
    },
  ],
  ['shortlog', { flags: [/^-[sne]+$/, /^--(all|summary|numbered|email|no-merges)$/], operands: 'revisions' }],
  ['describe', { flags: [/^--(tags|all|always|long|abbrev=\d+)$/], operands: 'revisions' }],
  ['remote', { flags: [/^-v$/, /^--verbose$/], operands: 'none' }],
  ['tag', { flags: [/^(-l|--list)$/, /^-n\d*$/, /^--sort=[\w:-]+$/], operands: 'none', patternFlag: /^(-l|--list)$/ }],
  ['ls-tree', { flags: [/^-[rdtlz]+$/, /^--(name-only|long|full-name|full-tree)$/], operands: 'revisions' }],
  ['merge-base', { flags: [/^--(all|is-ancestor|fork-point)$/], operands: 'revisions' }],
  ['stash', { flags: [], operands: 'pattern', pattern: /^list$/, most: 0 }],
])
