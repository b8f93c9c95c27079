// `npm run bench [-- --runs N] [FIGURE...]`: measures, prints a table, writes it as JSON to bench/results/. Nothing here is a
// test: how fast a machine is says nothing about whether the program is right.
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { appends } from './figures/appends.mjs'
import { boardText } from './figures/board-text.mjs'
import { decide } from './figures/decide.mjs'
import { fanOut } from './figures/fan-out.mjs'
import { firstRequest } from './figures/first-request.mjs'
import { floors } from './figures/floors.mjs'
import { deliveryLatency, spawnLatency, turnTime } from './figures/gaps.mjs'
import { idleSessions } from './figures/idle-sessions.mjs'
import { killedLoop } from './figures/killed-loop.mjs'
import { manyChildren } from './figures/many-children.mjs'
import { oneSlot } from './figures/one-slot.mjs'
import { oneTurn } from './figures/one-turn.mjs'
import { tools } from './figures/tools.mjs'
import { twoTrees } from './figures/two-trees.mjs'
import { formatRow, tableHead } from './support/table.mjs'
import { packageDir } from './support/workplace.mjs'

const figures = {
  floors,
  'one-turn': oneTurn,
  'turn-time': turnTime,
  'spawn-latency': spawnLatency,
  'delivery-latency': deliveryLatency,
  'fan-out': fanOut,
  'many-children': manyChildren,
  'idle-sessions': idleSessions,
  'first-request': firstRequest,
  appends,
  decide,
  'one-slot': oneSlot,
  'two-trees': twoTrees,
  'board-text': boardText,
  'killed-loop': killedLoop,
  tools,
}

const { names, runs } = parseArguments(process.argv.slice(2))
console.log(`node ${process.version}, ${cpus().length} processors; medians of ${runs}\n\n${tableHead()}`)
const rows = []
for (const name of names) {
  for (const row of await figures[name]({ runs })) {
    rows.push(row)
    console.log(formatRow(row))
  }
}
console.log(`\nwritten to ${writeResults(rows)}`)

function parseArguments(args) {
  const at = args.indexOf('--runs')
  const runs = at < 0 ? 5 : Number(args[at + 1])
  const names = at < 0 ? args : args.toSpliced(at, 2)
  const unknown = names.filter((name) => !(name in figures))
  if (unknown.length > 0 || !(runs >= 1)) {
    console.error(`Usage: npm run bench -- [--runs N] [${Object.keys(figures).join(' | ')}]...`)
    process.exit(2)
  }
  return { names: names.length > 0 ? names : Object.keys(figures), runs }
}

function writeResults(rows) {
  const folder = join(packageDir, 'bench/results')
  mkdirSync(folder, { recursive: true })
  const date = new Date().toISOString()
  const path = join(folder, `${date.replaceAll(':', '-').slice(0, 19)}.json`)
  const machine = { node: process.version, processors: cpus().map(({ model }) => model), memoryBytes: totalmem() }
  writeFileSync(path, `${JSON.stringify({ date, runs, machine, rows }, undefined, 2)}\n`)
  return path
}
