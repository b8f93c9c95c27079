// Runs a short command, then one of 200 MB of output; prints how long the second took, how much more memory this program and
// its helper processes held at most, and how long the main thread's event loop was blocked at most.
import { readdirSync, readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createTroupe } from '../../dist/index.js'

const [, , model, dir] = process.argv
const resolutionMs = 5

const troupe = await createTroupe({ model, dir, permission: 'allow' })
const delay = monitorEventLoopDelay({ resolution: resolutionMs })
let before
let began
let ms
let peak = 0
const timer = setInterval(() => {
  if (before !== undefined) peak = Math.max(peak, held())
}, 20)
troupe.events.subscribe((event) => {
  if (event.type === 'tool.started' && event.title.startsWith('yes')) {
    before = held()
    began = performance.now()
    delay.enable()
  }
  if (event.type === 'tool.finished' && began !== undefined) {
    ms = performance.now() - began
    delay.disable()
  }
})
await troupe.run({ prompt: 'Go', agent: 'lead' }).finished
clearInterval(timer)
await troupe.close()
console.log(
  JSON.stringify({ ms, extraMb: (peak - before) / 1e6, blockedMs: Math.max(0, delay.max / 1e6 - resolutionMs) }),
)

/** Resident bytes of this process and of the Node processes below it. */
function held() {
  return [process.pid, ...childrenOf(process.pid)].reduce((sum, pid) => sum + residentOf(pid), 0)
}

function childrenOf(pid) {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => read(`/proc/${pid}/task/${task}/children`).split(' '))
    .filter(Boolean)
    .map(Number)
    .filter((child) => read(`/proc/${child}/cmdline`).includes('process-helper'))
}

function residentOf(pid) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // It has ended.
  }
}
