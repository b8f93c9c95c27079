import { measureNode } from '../support/measure-process.mjs'
import { startServer } from '../support/server-process.mjs'
import { median, percentile } from '../support/statistics.mjs'
import { benchFile, createWorkplace } from '../support/workplace.mjs'

const turns = 150
/** Fewer: to wake a parent costs more the longer its journal is. */
const deliveries = 50
/** Turns that warm up the pool, the connection and the compiler. */
const warmUp = 20

/** The runtime's own time between a reply of the server and the next request, with one small `read` call in between. */
export async function turnTime({ runs }) {
  const gaps = await gapsOf('read', runs)
  const floor = await gapsOf('read', runs, true)
  return [
    { figure: 'own time per turn with one read, p50', value: p(gaps, 0.5), unit: 'ms', floor: p(floor, 0.5), goal: 2 },
    { figure: 'own time per turn with one read, p99', value: p(gaps, 0.99), unit: 'ms', floor: p(floor, 0.99) },
  ]
}

/** From the reply that calls `task` to the child's first request. */
export async function spawnLatency({ runs }) {
  const gaps = await gapsOf('task', runs)
  const floor = await gapsOf('task', runs, true)
  return [
    {
      figure: 'task call to first request of child, p50',
      value: p(gaps, 0.5),
      unit: 'ms',
      floor: p(floor, 0.5),
      goal: 5,
    },
    {
      figure: 'task call to first request of child, p99',
      value: p(gaps, 0.99),
      unit: 'ms',
      floor: p(floor, 0.99),
      goal: 25,
    },
  ]
}

/** From a child's last reply to its parent's next request, the parent being idle. */
export async function deliveryLatency({ runs }) {
  const gaps = await gapsOf('deliver', runs)
  return [
    { figure: "child's answer to its idle parent's request, p50", value: p(gaps, 0.5), unit: 'ms', goal: 3 },
    { figure: "child's answer to its idle parent's request, p99", value: p(gaps, 0.99), unit: 'ms' },
  ]
}

/** The median over the runs of a percentile within each. */
function p(gaps, fraction) {
  return median(gaps.map((one) => percentile(one, fraction)))
}

async function gapsOf(kind, runs, isNull = false) {
  const gaps = []
  for (let n = 0; n < runs; n++) gaps.push(await gapsOfRun(kind, isNull))
  return gaps
}

async function gapsOfRun(kind, isNull) {
  const place = createWorkplace()
  const server = await startServer([
    benchFile('programs/gap-server.mjs'),
    kind,
    String(kind === 'deliver' ? deliveries : turns),
  ])
  try {
    if (isNull) await measureNode([benchFile('null-harness.mjs'), server.url, place.dir, place.env.TROUPE_HOME])
    else {
      const env = { ...place.env, OLLAMA_HOST: server.url }
      await measureNode([benchFile('programs/run-troupe.mjs'), 'ollama/bench', place.dir], { env })
    }
    return JSON.parse((await server.stop()).trim().split('\n').at(-1)).slice(warmUp)
  } finally {
    await server.stop()
    place.remove()
  }
}
