import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const maxIndexBytes = 64 * 1024 * 1024

/**
 * True when `git status`, `log`, `diff` and `show` in `cwd` run nothing but git: a repository's own configuration can
 * name programs (core.fsmonitor, diff drivers, filters, hooks), and so can those of its sub-modules. Positive: an unknown
 * setting is not inert. The user's own configuration is trusted. True as well where there is no repository.
 */
export function isInertRepository(cwd: string): boolean {
  try {
    const folder = findRepository(cwd)
    return folder === undefined || isInert(folder)
  } catch {
    // Something cannot be read: then nothing is known of it, and a person decides.
    return false
  }
}

type Repository = { gitDir: string; commonDir: string }

function findRepository(cwd: string): Repository | undefined {
  for (let at = resolve(cwd); ; at = dirname(at)) {
    const entry = join(at, '.git')
    if (existsSync(entry)) return openRepository(entry)
    // A bare repository may lie anywhere, with a configuration of its own.
    if (existsSync(join(at, 'HEAD')) && existsSync(join(at, 'objects'))) throw new Error('a bare repository')
    if (dirname(at) === at) return undefined
  }
}

function openRepository(entry: string): Repository {
  const gitDir = lstatSync(entry).isDirectory() ? entry : followPointer(entry)
  const common = join(gitDir, 'commondir')
  const commonDir = existsSync(common) ? resolve(gitDir, readFileSync(common, 'utf8').trim()) : gitDir
  // Where git finds no repository it looks further up, for one with another configuration.
  if (!isRepository({ gitDir, commonDir })) throw new Error('.git is no repository')
  return { gitDir, commonDir }
}

function followPointer(entry: string): string {
  const pointer = /^gitdir: (.+)\n?$/.exec(readFileSync(entry, 'utf8'))
  if (pointer === null) throw new Error('.git is no pointer')
  return resolve(dirname(entry), pointer[1]!)
}

function isRepository({ gitDir, commonDir }: Repository): boolean {
  const hasHead = /^(ref: refs\/|[0-9a-f]{40})/.test(readFileSync(join(gitDir, 'HEAD'), 'utf8'))
  return hasHead && ['objects', 'refs'].every((name) => existsSync(join(commonDir, name)))
}

function isInert({ gitDir, commonDir }: Repository): boolean {
  if (existsSync(join(commonDir, 'hooks', 'post-index-change'))) return false
  const config = join(commonDir, 'config')
  return (!existsSync(config) || isInertConfig(readFileSync(config, 'utf8'))) && !mayHaveSubmodules(gitDir)
}

// An entry for another repository has mode 160000; git looks into such folders with the configuration found there.
const submoduleMode = Buffer.from([0, 0, 0xe0, 0])

function mayHaveSubmodules(gitDir: string): boolean {
  const index = join(gitDir, 'index')
  if (!existsSync(index)) return false
  // A split index keeps most of its entries in a second file.
  if (readdirSync(gitDir).some((name) => name.startsWith('sharedindex.'))) return true
  return lstatSync(index).size > maxIndexBytes || readFileSync(index).includes(submoduleMode)
}

const inertKeys: Record<string, RegExp> = {
  core: /^(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|quotepath|abbrev)$/,
  user: /^(name|email)$/,
  remote: /^(url|fetch|pushurl|prune|tagopt)$/,
  branch: /^/,
  pull: /^(rebase|ff)$/,
  push: /^(default|autosetupremote|followtags)$/,
  init: /^defaultbranch$/,
  advice: /^/,
  color: /^/,
  commit: /^gpgsign$/,
  tag: /^gpgsign$/,
}

/** True when every line of a git configuration is a setting known to run nothing. */
export function isInertConfig(text: string): boolean {
  let section: string | undefined
  for (const line of text.split(/\r?\n/)) {
    const header = /^\s*\[\s*([A-Za-z0-9-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\](.*)$/.exec(line)
    if (header) section = header[1]!.toLowerCase()
    const rest = (header ? header[2]! : line).trim()
    if (rest === '' || rest.startsWith('#') || rest.startsWith(';')) continue
    const key = /^([A-Za-z][A-Za-z0-9-]*)\s*(=.*)?$/.exec(rest)?.[1]?.toLowerCase()
    if (key === undefined || section === undefined || rest.endsWith('\\')) return false
    if (!inertKeys[section]?.test(key)) return false
  }
  return true
}
