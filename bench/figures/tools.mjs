import { spawn } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { loadSource } from '../support/load-source.mjs'
import { measureNode } from '../support/measure-process.mjs'
import { median } from '../support/statistics.mjs'
import { benchFile, createWorkplace } from '../support/workplace.mjs'

const require = createRequire(createRequire(import.meta.url).resolve('@vscode/ripgrep'))
const ripgrep = require.resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`)

/** Single tools, through the runner, on large files and folders; each beside the same work done without it. */
export async function tools({ runs }) {
  const place = createWorkplace()
  // A bundle elsewhere does not find the package.
  process.env.TROUPE_RIPGREP = ripgrep
  const { createToolWorld, removeToolWorlds } = await loadSource('src/tools/testing/tool-world.ts', place.base)
  try {
    const world = await createToolWorld()
    return [
      ...(await reading(world, runs)),
      ...(await editing(world, runs)),
      ...(await searching(await createToolWorld(), runs)),
      ...(await bigOutput(place, runs)),
    ]
  } finally {
    await removeToolWorlds()
    place.remove()
  }
}

const textLine = 'a line of text that is about as long as lines are in source files\n'

async function reading(world, runs) {
  const path = join(world.dir, 'big.log')
  const chunk = textLine.repeat(100_000)
  for (let bytes = 0; bytes < 100e6; bytes += chunk.length) appendFileSync(path, chunk)
  const read = (offset) => world.result('read', { file_path: 'big.log', offset, limit: 2000 })
  await read(1)
  const before = process.memoryUsage.rss()
  const first = await medianMs(runs, () => read(1))
  const grownMb = (process.memoryUsage.rss() - before) / 1e6
  const middle = await medianMs(runs, () => read(750_000))
  const floor = await medianMs(runs, () => readBytes(path, 2000 * textLine.length))
  return [
    { figure: 'read: first 2,000 lines of 100 MB', value: first, unit: 'ms', floor, goal: 30 },
    { figure: 'read: 2,000 lines in its middle', value: middle, unit: 'ms', floor },
    { figure: 'read: extra memory', value: Math.max(0, grownMb), unit: 'MB' },
  ]
}

function readBytes(path, length) {
  const file = openSync(path, 'r')
  readSync(file, Buffer.alloc(length))
  closeSync(file)
}

async function editing(world, runs) {
  const lines = (count) => Array.from({ length: count }, (_, n) => `const value${n} = compute(${n}) // some more text`)
  await world.write('mb.ts', lines(20_000).join('\n'))
  await world.write('mb5.ts', lines(100_000).join('\n'))
  let n = 0
  const edit = (file_path, from, to) => world.result('edit', { file_path, old_string: from, new_string: to })
  const exact = () =>
    edit(
      'mb.ts',
      n % 2 ? '// changed' : `value15000 = compute(15000) //`,
      n++ % 2 ? 'value15000 = compute(15000) //' : '// changed',
    )
  const value = await medianMs(runs, exact)
  const absent = lines(30).join('\n').replaceAll('compute', 'absent')
  const missed = await medianMs(runs, () => edit('mb5.ts', absent, 'x'))
  const floor = await medianMs(runs, () => rewrite(join(world.dir, 'mb.ts')))
  return [
    { figure: 'edit of a 1 MB file', value, unit: 'ms', floor, goal: 20 },
    { figure: 'edit: 30 absent lines in 5 MB', value: missed, unit: 'ms', goal: 2000 },
  ]
}

function rewrite(path) {
  writeFileSync(`${path}.tmp`, readFileSync(path))
  renameSync(`${path}.tmp`, path)
}

async function searching(world, runs) {
  plantTree(world.dir)
  const grep = () => world.result('grep', { pattern: 'needle' })
  const glob = () => world.result('glob', { pattern: '*.md' })
  const rg =
    (...args) =>
    () =>
      runRipgrep(world.dir, args)
  const rows = []
  for (const [figure, tool, floor] of [
    ['grep over 20,000 files', grep, rg('--hidden', '--line-number', 'needle', './')],
    ['glob over 20,000 files', glob, rg('--hidden', '--files', '--sortr=modified', '--glob=*.md', './')],
  ]) {
    await tool()
    await floor()
    const samples = { tool: [], floor: [] }
    // In turns: what else the machine does meets both.
    for (let n = 0; n < runs; n++) {
      samples.tool.push(await timed(tool))
      samples.floor.push(await timed(floor))
    }
    const least = median(samples.floor)
    rows.push({ figure, value: median(samples.tool), unit: 'ms', floor: least, goal: 1.5 * least })
  }
  return rows
}

/** 200 folders of 100 files of 3 KB; ten hold the word. */
function plantTree(dir) {
  const text = Array.from({ length: 60 }, (_, n) => `export const value${n} = compute(${n}, "some text")\n`).join('')
  mkdirSync(join(dir, '.git'))
  for (let folder = 0; folder < 200; folder++) {
    const at = join(dir, `package-${folder % 20}`, `module-${folder}`)
    mkdirSync(at, { recursive: true })
    for (let n = 0; n < 100; n++) {
      const word = n === 7 && folder % 20 === 0 ? 'needle here\n' : ''
      writeFileSync(join(at, `file-${n}.${n % 4 ? 'ts' : 'md'}`), text + word)
    }
  }
}

function runRipgrep(cwd, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(ripgrep, ['--no-config', ...args], { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
    child.stdout.resume()
    child.once('error', reject)
    child.once('close', resolve)
  })
}

async function bigOutput(place, runs) {
  const rules = [
    { when: { turn: 1 }, reply: { calls: [{ tool: 'bash', args: { command: 'true' } }] } },
    { when: { turn: 2 }, reply: { calls: [{ tool: 'bash', args: { command: 'yes | head -c 200000000' } }] } },
    { when: {}, reply: { text: 'Done.' } },
  ]
  const model = `scripted:${place.script({ rules })}`
  const args = [benchFile('programs/big-output.mjs'), model, place.dir]
  const samples = []
  for (let n = 0; n < Math.min(runs, 3); n++) {
    samples.push(JSON.parse((await measureNode(args, { env: place.env })).stdout))
  }
  const of = (field) => median(samples.map((sample) => sample[field]))
  return [
    { figure: '200 MB of command output', value: of('ms'), unit: 'ms', floor: await medianMs(3, yesToNull) },
    { figure: '200 MB of command output, extra memory', value: of('extraMb'), unit: 'MB', goal: 60 },
    { figure: '200 MB of command output, longest block', value: of('blockedMs'), unit: 'ms', goal: 50 },
  ]
}

function yesToNull() {
  return new Promise((resolve) => {
    spawn('sh', ['-c', 'yes | head -c 200000000 | cat > /dev/null'], { stdio: 'ignore' }).once('close', resolve)
  })
}

async function medianMs(runs, work) {
  const samples = []
  for (let n = 0; n < runs; n++) samples.push(await timed(work))
  return median(samples)
}

async function timed(work) {
  const began = performance.now()
  await work()
  return performance.now() - began
}
