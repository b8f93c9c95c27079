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

const name = fc.constantFrom('a.ts', 'b.log', '.hidden', 'keep.log', 'x y.txt', 'dist', '-e')
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
  glob: fc.constantFrom('**', '*.log', '*.{ts,log}', 'src/**', '**/dist/*', '[ab].*', 'deep/a.ts'),
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
