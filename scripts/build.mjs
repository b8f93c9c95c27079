// Bundles the program: one file for each place where it starts (command line, library, worker threads, process helper).
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
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
  'worker-entry': 'src/workers/worker-entry.ts',
  'process-helper': 'src/supervisor/process-helper.ts',
}

/** Writes `dist/`; takes about half a second. */
export async function bundle() {
  const present = Object.entries(entries).filter(([, file]) => existsSync(join(root, file)))
  await build({
    absWorkingDir: root,
    entryPoints: {
      ...Object.fromEntries(present),
      worker: require.resolve('piscina').replace(/[^/\\]+$/, 'worker.js'),
    },
    outdir: 'dist',
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    banner,
    logLevel: 'warning',
  })
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
