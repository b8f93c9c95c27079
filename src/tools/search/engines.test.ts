import { mkdirSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { javascriptEngine } from './javascript-engine.ts'
import { parsePathFilter } from './path-filter.ts'
import { createRipgrepEngine } from './ripgrep-engine.ts'

const require = createRequire(createRequire(import.meta.url).resolve('@vscode/ripgrep'))
const ripgrep = createRipgrepEngine(require.resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`))

const name = fc.constantFrom(
  'a.ts',
  'b.log',
  '.hidden',
  'keep.log',
  'x y.txt',
  'dist',
  '-e',
  '{c}.ts',
  'new\nline.ts',
  'ünï.log',
)
const folder = fc.constantFrom('', 'src/', 'dist/', 'src/deep/', '.config/', 'src/dist/')
const file = fc.tuple(folder, name).map(([at, of]) => at + (of === 'dist' ? 'dist.md' : of))
const rule = fc.constantFrom(
  '*.log',
  '!keep.log',
  'dist/',
  '/src/dist',
  '**/deep/*',
  '.hidden',
  'src/*.ts',
  '# no rule',
  'x?y.txt',
)
const ignoreFile = fc.tuple(folder, fc.array(rule, { minLength: 1, maxLength: 4 }))
const tree = fc.record({
  files: fc.uniqueArray(file, { minLength: 1, maxLength: 12 }),
  ignoreFiles: fc.array(ignoreFile, { maxLength: 3 }),
  isRepository: fc.boolean(),
  at: folder,
  glob: fc.constantFrom(
    '**',
    '*.log',
    '*.{ts,log}',
    'src/**',
    '**/dist/*',
    '[ab].*',
    'deep/a.ts',
    '{c}.ts',
    '-*',
    '*ï*',
  ),
})

type Tree = typeof tree extends fc.Arbitrary<infer T> ? T : never

function build({ files, ignoreFiles, isRepository, at }: Tree): string {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-search-')))
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(workspace, path)), { recursive: true })
    writeFileSync(join(workspace, path), text)
  }
  if (isRepository) mkdirSync(join(workspace, '.git'))
  mkdirSync(join(workspace, at), { recursive: true })
  for (const [n, path] of files.entries()) {
    write(path, `line\n${n % 2 ? 'needle' : 'other'}\n`)
    utimesSync(join(workspace, path), 1e9, 1e9 + (n >> 1))
  }
  for (const [where, rules] of ignoreFiles) write(`${where}.gitignore`, rules.join('\n'))
  return workspace
}

test('both engines give the same answers, whatever the files and what git ignores', async () => {
  await fc.assert(
    fc.asyncProperty(tree, async (given) => {
      const workspace = build(given)
      try {
        const place = {
          folder: join(workspace, given.at).replace(/\/$/, ''),
          workspace,
          signal: new AbortController().signal,
        }
        const filter = parsePathFilter(given.glob, place.folder)
        expect(await ripgrep.list(place, filter)).toEqual(await javascriptEngine.list(place, filter))
        const request = {
          pattern: 'needle|line',
          filter,
          limit: 100,
          mayShow: (below: string) => !below.includes('b.log'),
        }
        expect(await ripgrep.grep(place, request)).toEqual(await javascriptEngine.grep(place, request))
      } finally {
        rmSync(workspace, { recursive: true, force: true })
      }
    }),
    { numRuns: Number(process.env.RUNS ?? 40) },
  )
})

const texts: Record<string, string | Buffer> = {
  'plain.txt': 'needle\nfoo(bar) a]b\n\tneedle tab\n\nend$\n--ctx -> x\n{brace} x{,3}\n',
  'crlf.txt': 'needle\r\nx needle\r\n',
  'cr.txt': 'needle\rneedle2\rend',
  'bom.txt': '\uFEFFneedle bom',
  'wide.txt': Buffer.from('\uFEFFneedle é\n', 'utf16le'),
  'latin.txt': Buffer.from('caf\xe9 needle\n', 'latin1'),
  'binary.txt': 'needle\0',
  'empty.txt': '',
  'long.txt': `${'a=1;'.repeat(20_000)}needle${'😀'.repeat(3000)}`,
}
const patterns = String.raw`needle ^needle$ needle$ ^$ a* ( [ x{,3} {brace} -> -v --ctx \bneedle\b [[:alpha:]]+\stab []a]b (a)\1
  foo(?=\() (?<!x.)needle (?P<n>needle) (?<n>needle) \Aneedle \<needle\> needle.$ (?m)^needle (?i)NEEDLE\s[bÉ] . \. é\S 😀+`

test.each(patterns.split(/\s+/))('both find the same lines by %s', async (pattern) => {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-search-')))
  try {
    for (const [n, name] of Object.keys(texts).entries()) {
      writeFileSync(join(workspace, name), texts[name]!)
      utimesSync(join(workspace, name), 1e9, 1e9 + n)
    }
    const place = { folder: workspace, workspace, signal: new AbortController().signal }
    const request = { pattern, filter: parsePathFilter('**', workspace), limit: 100, mayShow: () => true }
    const answers = [ripgrep, javascriptEngine].map((engine) => engine.grep(place, request).catch(String))
    const [one, other] = await Promise.all(answers)
    expect(one).toEqual(other)
  } finally {
    rmSync(workspace, { recursive: true, force: true })
  }
})

test('both count the lines of a large file alike, and find what lies at the end of one', async () => {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-search-')))
  try {
    const lines = Array.from({ length: 60_000 }, (_, n) => (n % 9973 === 0 ? `${n} needle é` : `${n} some other text`))
    writeFileSync(join(workspace, 'large.txt'), `${lines.join('\n')}\n${'x'.repeat(700_000)} needle`)
    const place = { folder: workspace, workspace, signal: new AbortController().signal }
    const request = { pattern: 'needle', filter: parsePathFilter('**', workspace), limit: 100, mayShow: () => true }
    const found = await javascriptEngine.grep(place, request)
    expect(found).toEqual(await ripgrep.grep(place, request))
    expect(found.found[0]?.matches.map(({ line }) => line)).toEqual([
      1, 9974, 19947, 29920, 39893, 49866, 59839, 60_001,
    ])
  } finally {
    rmSync(workspace, { recursive: true, force: true })
  }
})
