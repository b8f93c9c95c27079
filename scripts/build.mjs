// Bundles the program: one file for each place where it starts (command line, library, worker threads, process helper).
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)

// piscina and a few others are CommonJS: they look for `require` and `__dirname` (piscina starts `__dirname/worker.js`).
const banner = {
  js: [
    "import { createRequire as troupeCreateRequire } from 'node:module';",
    "import { fileURLToPath as troupeFileURLToPath } from 'node:url';",
    'const require = troupeCreateRequire(import.meta.url);',
    "const __dirname = troupeFileURLToPath(new URL('.', import.meta.url));",
  ].join('\n'),
}

const entries = {
  index: 'src/index.ts',
  cli: 'src/cli/main.ts',
  'output-schema': 'src/cli/run/output-schema.ts',
  'worker-entry': 'src/workers/worker-entry.ts',
  'process-helper': 'src/supervisor/process-helper.ts',
  'convert-html': 'src/tools/web/convert-html.ts',
  'tree-sitter': 'src/permissions/shell/tree-sitter.ts',
}

/** What the program reads at run time from beside itself: so it needs neither package when it is installed. */
const assets = ['web-tree-sitter/web-tree-sitter.wasm', 'tree-sitter-bash/tree-sitter-bash.wasm']

/** What the command line loads only when a command needs it stays a file of its own; of the library it never holds a copy. */
const loadedLater = ['index', 'output-schema', 'convert-html', 'tree-sitter'].map((name) => ({
  file: join(root, entries[name]),
  path: `./${name}.js`,
}))
const separateFiles = {
  name: 'separate-files',
  setup({ onResolve }) {
    onResolve({ filter: /\.ts$/ }, ({ path, resolveDir, kind }) => {
      const later = kind === 'dynamic-import' && loadedLater.find(({ file }) => file === join(resolveDir, path))
      return later ? { path: later.path, external: true } : undefined
    })
  },
}

/** What every start would load and nothing here uses, or uses in a slower form. */
const slimmer = {
  name: 'slimmer',
  setup({ onResolve, onLoad }) {
    // The condition "node" of rxjs gives CommonJS, of which nothing can be left out.
    onResolve({ filter: /^rxjs$/ }, () => ({
      path: join(root, 'node_modules/rxjs/dist/esm/index.js'),
      sideEffects: false,
    }))
    // zod's error messages in 50 languages. English is a module of its own.
    onResolve({ filter: /^\.\.\/locales\/index\.js$/ }, () => ({ path: 'zod-locales', namespace: 'stub' }))
    onLoad({ filter: /^zod-locales$/, namespace: 'stub' }, () => ({ contents: 'export {}' }))
    // gray-matter's own parser: our definitions hand it another one.
    onResolve({ filter: /^js-yaml$/ }, () => ({ path: 'js-yaml', namespace: 'stub' }))
    onLoad({ filter: /^js-yaml$/, namespace: 'stub' }, () => ({ contents: unusedParser }))
  },
}
const unusedParser = `
exports.safeLoad = exports.safeDump = () => { throw new Error('js-yaml is left out: hand gray-matter an engine') }
`

/** Brings `dist/` up to date; takes about half a second. What can be built is built, then the first error is thrown. */
export async function bundle() {
  const beganAt = new Date()
  const present = Object.entries(entries).filter(([, file]) => existsSync(join(root, file)))
  const piscinaWorker = require.resolve('piscina').replace(/[^/\\]+$/, 'worker.js')
  mkdirSync(join(root, 'dist'), { recursive: true })
  const builds = await Promise.allSettled([...present, ['worker', piscinaWorker]].map(bundleEntry))
  const failed = builds.find(({ status }) => status === 'rejected')
  if (failed !== undefined) throw failed.reason
  for (const asset of assets) replace(join(root, 'dist', basename(asset)), readFileSync(require.resolve(asset)))
  stampBuild(beganAt)
}

async function bundleEntry([name, file]) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: { [name]: file },
    outdir: 'dist',
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    // A native addon of piscina's, for thread priorities that we do not set; piscina does without when it is missing.
    external: ['@napi-rs/nice'],
    minifyWhitespace: true,
    plugins: [separateFiles, slimmer],
    banner,
    logLevel: 'warning',
  })
  for (const output of outputFiles) replace(output.path, output.contents)
}

/** A program that starts meanwhile finds the old file or the new one, whole; what has not changed is left alone. */
function replace(path, contents) {
  if (existsSync(path) && Buffer.compare(readFileSync(path), contents) === 0) return
  const fresh = `${path}.${process.pid}`
  writeFileSync(fresh, contents, { mode: path.endsWith('cli.js') ? 0o755 : 0o644 })
  renameSync(fresh, path)
}

/** What is edited during a build counts as newer than it. */
function stampBuild(beganAt) {
  const stamp = join(root, 'dist/.built')
  writeFileSync(stamp, '')
  utimesSync(stamp, beganAt, beganAt)
}

/** Writes `dist/types/`, the declarations of the library. */
export function declarations() {
  rmSync(join(root, 'dist/types'), { recursive: true, force: true })
  const args = [
    '--noEmit',
    'false',
    '--declaration',
    '--emitDeclarationOnly',
    '--outDir',
    'dist/types',
    '--rootDir',
    'src',
  ]
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
  const options = ['--project', 'tsconfig.build.json', ...args]
  const { status } = spawnSync(process.execPath, [tsc, ...options], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bundle()
  if (process.argv.includes('--types')) declarations()
}
