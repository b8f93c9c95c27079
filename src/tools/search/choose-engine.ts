import { createRequire } from 'node:module'
import { RuntimeError } from '../../core/errors.ts'
import { javascriptEngine } from './javascript-engine.ts'
import { createRipgrepEngine } from './ripgrep-engine.ts'
import type { SearchEngine } from './search-engine.ts'

/** Set to `off`, searches do without ripgrep; set to a path, that one is used. */
const variable = 'TROUPE_RIPGREP'

/** ripgrep where it runs, else the same in JavaScript. */
export function searchEngine(env: NodeJS.ProcessEnv = process.env): SearchEngine {
  const program = env[variable] || packagedRipgrep()
  if (program === undefined || program === 'off' || broken.has(program)) return javascriptEngine
  const engine = createRipgrepEngine(program)
  return {
    list: (...args) => engine.list(...args).catch(orElse(program, () => javascriptEngine.list(...args))),
    grep: (...args) => engine.grep(...args).catch(orElse(program, () => javascriptEngine.grep(...args))),
  }
}

/** Binaries that did not run, once for all. */
const broken = new Set<string>()

function orElse<T>(program: string, instead: () => Promise<T>): (error: unknown) => Promise<T> {
  return (error) => {
    if (!(error instanceof RuntimeError) || error.code !== 'ripgrep-unavailable') throw error
    broken.add(program)
    return instead()
  }
}

let packaged: string | undefined | null

/** The binary for this platform comes in a package of its own; `undefined` where it was not installed. */
function packagedRipgrep(): string | undefined {
  packaged ??= findPackaged() ?? null
  return packaged ?? undefined
}

function findPackaged(): string | undefined {
  const name = process.platform === 'win32' ? 'rg.exe' : 'rg'
  try {
    const ours = createRequire(import.meta.url)
    // The platform packages are dependencies of the package itself, so they are looked for from there.
    const theirs = createRequire(ours.resolve('@vscode/ripgrep'))
    return theirs.resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/${name}`)
  } catch {
    return undefined // No such platform, or an installation without optional packages.
  }
}
