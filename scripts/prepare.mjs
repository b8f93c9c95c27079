// Makes a fresh clone ready: dependencies, then dist/. Node builtins only: it runs before anything is installed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stamp = join(root, 'node_modules/.troupe-lock')

/** Installs and builds where needed, and says so on stderr. Ends the process with one line where it cannot. */
export async function prepare() {
  checkNode()
  if (!isInstalled()) install()
  if (!isBuilt()) await buildNow()
}

/** One line on stderr for what is going on. */
export function say(line) {
  process.stderr.write(`troupe: ${line}\n`)
}

/** Ends the process. */
export function fail(line) {
  say(line)
  process.exit(1)
}

function checkNode() {
  const needed = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).engines.node.replace('>=', '')
  if (isOlder(process.versions.node, needed)) {
    fail(`Node ${needed} or newer is needed, this is ${process.versions.node}. Get one: https://nodejs.org`)
  }
}

function isOlder(version, needed) {
  const [a, b] = [version, needed].map((text) => text.split('.').map(Number))
  return a[0] !== b[0] ? a[0] < b[0] : a[1] < (b[1] ?? 0)
}

function isInstalled() {
  if (!existsSync(join(root, 'node_modules'))) return false
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash()) return true
  if (!matchesLock()) return false
  writeFileSync(stamp, lockHash())
  return true
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
}

/** True when somebody has installed by hand just what the lock file names; other platforms' packages may be missing. */
function matchesLock() {
  const there = packagesIn('node_modules/.package-lock.json')
  const wanted = packagesIn('package-lock.json')
  if (there === undefined || wanted === undefined) return false
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === '' || there[path]?.version === version || (optional && !there[path]),
  )
}

function packagesIn(file) {
  const path = join(root, file)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : undefined
}

function install() {
  say('installing dependencies (npm ci); this happens once and takes about half a minute ...')
  const began = Date.now()
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, error } = npm(args)
  if (error) fail(`npm could not be started (${error.message}). Install it, or run: npm ci`)
  if (status !== 0)
    fail('npm ci failed (see above). It needs the network once: check it, then run the same command again.')
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, lockHash())
  say(`installed in ${seconds(began)}`)
}

/** The npm that runs us, where one does: the one on the path may be another. What it prints is no answer: stderr. */
function npm(args) {
  const options = { cwd: root, stdio: ['ignore', 2, 2] }
  const cli = process.env.npm_execpath
  if (cli && /npm-cli\.c?js$/.test(cli)) return spawnSync(process.execPath, [cli, ...args], options)
  return spawnSync('npm', args, { ...options, shell: process.platform === 'win32' })
}

function isBuilt() {
  const built = join(root, 'dist/.built')
  if (!existsSync(built) || !existsSync(join(root, 'dist/cli.js'))) return false
  const builtAt = statSync(built).mtimeMs
  return ['src', 'scripts/build.mjs', 'package-lock.json'].every((path) => newest(join(root, path)) < builtAt)
}

/** Folders count as well: a file taken away leaves its mark there only. */
function newest(path) {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.mtimeMs
  return readdirSync(path).reduce((latest, name) => Math.max(latest, newest(join(path, name))), stat.mtimeMs)
}

async function buildNow() {
  say('building ...')
  const began = Date.now()
  try {
    const { bundle } = await import(pathToFileURL(join(root, 'scripts/build.mjs')).href)
    await bundle()
  } catch (error) {
    fail(`the build failed: ${error.message}`)
  }
  say(`built in ${seconds(began)}`)
}

function seconds(began) {
  return `${((Date.now() - began) / 1000).toFixed(1)} s`
}
