import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import ignore, { type Ignore } from 'ignore'

/** What git would ignore, for one folder and all above it. Paths are relative to one top folder, with `/`. */
export type IgnoreRules = {
  /** `path` of a folder ends in `/`. */
  ignores(path: string): boolean
  /** The rules of a folder below, with those of its own `.gitignore`. */
  within(folder: string, gitignore: string): IgnoreRules
}

/** `top` is the folder that the rules' paths are relative to; `isIgnored`: what was asked for lies in an ignored folder. */
export type LoadedRules = { top: string; rules: IgnoreRules; isIgnored: boolean }

/** Rules for a search below `root`: those of every folder from the repository's top, or from `workspace` outside of one. */
export function loadIgnoreRules(root: string, workspace: string): LoadedRules {
  const top = repositoryTop(root) ?? (root.startsWith(workspace + sep) ? workspace : root)
  const excluded = readText(join(top, '.git', 'info', 'exclude'))
  let rules = excluded === undefined ? noRules : noRules.within('', excluded)
  const parts = relative(top, root).split(sep).filter(Boolean)
  for (let depth = 0; depth < parts.length; depth++) {
    const folder = parts
      .slice(0, depth)
      .map((part) => `${part}/`)
      .join('')
    const text = readText(join(top, folder, '.gitignore'))
    if (text !== undefined) rules = rules.within(folder, text)
  }
  // Somebody who searches an ignored folder by name means it.
  const rootPath = parts.map((part) => `${part}/`).join('')
  const isIgnored = rootPath !== '' && rules.ignores(rootPath)
  return { top, rules: isIgnored ? noRules : rules, isIgnored }
}

/** `undefined` when there is no such file. */
export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined // Most folders have none.
  }
}

/** Nothing is ignored. */
export const noRules: IgnoreRules = { ignores: () => false, within: (folder, text) => rulesOf(noRules, folder, text) }

/** The deepest `.gitignore` that says anything of a path decides. */
function rulesOf(above: IgnoreRules, folder: string, text: string): IgnoreRules {
  const own: Ignore = ignore({ ignorecase: false }).add(text)
  const rules: IgnoreRules = {
    ignores(path) {
      const { ignored, unignored } = own.test(path.slice(folder.length))
      return ignored || (!unignored && above.ignores(path))
    },
    within: (deeper, deeperText) => rulesOf(rules, deeper, deeperText),
  }
  return rules
}

/** The folder above or at `folder` that holds a `.git`. */
export function repositoryTop(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at
    if (dirname(at) === at) return undefined
  }
}
