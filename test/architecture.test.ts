import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

/** What each part of `src/` may import besides itself. Files directly in `src/` are the public API, `index`. */
const mayImport: Record<string, string[]> = {
  core: [],
  session: ['core'],
  permissions: ['core'],
  models: ['core'],
  tools: ['permissions', 'core'],
  sandbox: ['permissions', 'core'],
  store: ['core'],
  jobboard: ['core'],
  definitions: ['core'],
  changes: ['store', 'session', 'tools', 'core'],
  workers: ['session', 'tools', 'models', 'permissions', 'core'],
  supervisor: ['workers', 'jobboard', 'store', 'definitions', 'sandbox', 'permissions', 'session', 'core'],
  index: [
    'supervisor',
    'changes',
    'workers',
    'jobboard',
    'store',
    'definitions',
    'sandbox',
    'permissions',
    'models',
    'tools',
    'session',
    'core',
  ],
  cli: ['index', 'core'],
}

const src = resolve(import.meta.dirname, '../src')

test('imports between the folders of src/ follow the one dependency rule', () => {
  const broken = sourceFiles().flatMap((file) => {
    const from = partOf(file)
    return importsOf(file)
      .filter((to) => partOf(to) !== from && !mayImport[from]?.includes(partOf(to)))
      .map((to) => `${relative(src, file)} imports ${relative(src, to)}`)
  })
  expect(broken).toEqual([])
})

test('what runs in a worker imports nothing that runs only in the main thread', () => {
  const reached = new Set<string>()
  visit(join(src, 'workers/worker-entry.ts'), reached)
  const parts = [...new Set([...reached].map(partOf))].sort()
  expect(parts).toEqual(['core', 'models', 'permissions', 'session', 'tools', 'workers'])
  expect([...reached].filter((file) => /-host\.ts$/.test(file)).map((file) => relative(src, file))).toEqual([
    'workers/session-host.ts',
  ])
})

function sourceFiles(): string[] {
  return readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.endsWith('.d.ts'))
    .map((path) => join(src, path))
}

function partOf(file: string): string {
  const [first = '', ...rest] = relative(src, file).split(/[\\/]/)
  return rest.length === 0 ? 'index' : first
}

function importsOf(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g)
  return [...found].map(([, path]) => resolve(dirname(file), path ?? ''))
}

/** Follows imports of values; types are gone at run time. */
function visit(file: string, reached: Set<string>): void {
  if (reached.has(file)) return
  reached.add(file)
  const text = readFileSync(file, 'utf8').replace(/^(?:import|export) type [^;]*?'[^']+'$/gm, '')
  for (const [, path] of text.matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g))
    visit(resolve(dirname(file), path ?? ''), reached)
}
