import picomatch from 'picomatch'
import { RuntimeError } from '../../core/errors.ts'

/** Which files a search takes in, by their path below its folder. */
export type PathFilter = {
  matches(below: string): boolean
  /**
   * A pattern of the name alone that every file matched also matches, in the plain syntax that ripgrep understands in the
   * same way; `undefined` when there is none.
   */
  name?: string
}

export const everyPath: PathFilter = { matches: () => true }

/** A pattern without `/` matches names at any depth, as in .gitignore. Throws `bad-pattern` when it leads elsewhere. */
export function parsePathFilter(glob: string, root: string): PathFilter {
  const pattern = relativePattern(glob.trim(), root)
  if (pattern === '') throw new RuntimeError('bad-pattern', 'The pattern is empty. Give one such as **/*.ts.')
  if (/(^|[/{,])\.\.\//.test(pattern) || pattern.startsWith('/')) {
    throw new RuntimeError(
      'bad-pattern',
      `The pattern ${glob} leads out of the folder searched. Set path to that folder.`,
    )
  }
  const whole = pattern.includes('/') ? pattern : `**/${pattern}`
  // Its own test looks at each path in several ways; for many files the expression alone takes a fraction of that.
  const expression = picomatch.makeRe(whole, { dot: true, flags: 's' })
  const matches = (below: string) => below === whole || expression.test(below)
  const name = plainName(pattern)
  return { matches, ...(name !== undefined && { name }) }
}

function relativePattern(glob: string, root: string): string {
  if (glob.startsWith(`${root}/`)) return glob.slice(root.length + 1)
  return glob.replace(/^(\.\/)+/, '')
}

function plainName(pattern: string): string | undefined {
  const [, folders, name] = /^(.*\/)?([^/]*)$/s.exec(pattern)!
  const isPlain = /^[\w.*-]*(\{[\w.-]+(,[\w.-]+)+\}[\w.*-]*)?$/.test(name!) && !/\*\*|,[,}]|\{,/.test(name!)
  return isPlain && name !== '' && !/[{}]/.test(folders ?? '') ? name : undefined
}
