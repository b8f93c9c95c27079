import { fanOutScript, readTurns } from '../support/fan-out-script.mjs'
import { measureNode } from '../support/measure-process.mjs'
import { startServer } from '../support/server-process.mjs'
import { medians } from '../support/statistics.mjs'
import { benchFile, cliPath, createWorkplace } from '../support/workplace.mjs'

/** N children over HTTP, beside the null harness on the same server: per child turn, and the whole process's memory. */
export async function fanOut({ runs }) {
  const rows = []
  for (const children of [8, 32, 64]) rows.push(...(await fanOutOf(children, runs)))
  return rows
}

async function fanOutOf(children, runs) {
  const samples = { floor: [], troupe: [] }
  for (let n = 0; n < runs; n++) {
    samples.floor.push(await fanOutOnce(children, true))
    samples.troupe.push(await fanOutOnce(children, false))
  }
  const [floor, troupe] = [medians(samples.floor), medians(samples.troupe)]
  const turns = children * (readTurns + 1)
  const per = (ms) => ms / turns
  const name = `fan-out over HTTP, N=${children}`
  return [
    {
      figure: `${name}, per child turn`,
      value: per(troupe.runMs),
      unit: 'ms',
      floor: per(floor.runMs),
      goal: per(floor.runMs) * 1.5,
    },
    {
      figure: `${name}, per child turn, whole process`,
      value: per(troupe.wallMs),
      unit: 'ms',
      floor: per(floor.wallMs),
    },
    { figure: `${name}, processor time per child turn`, value: per(troupe.cpuMs), unit: 'ms', floor: per(floor.cpuMs) },
    {
      figure: `${name}, peak memory`,
      value: troupe.peakMb,
      unit: 'MB',
      floor: floor.peakMb,
      ...(children === 32 && { goal: 180 }),
    },
  ]
}

async function fanOutOnce(children, isNull) {
  const place = createWorkplace()
  const server = await startServer([cliPath, 'scripted-server', place.script(fanOutScript(children))])
  try {
    const args = isNull
      ? [benchFile('null-harness.mjs'), server.url, place.dir, place.env.TROUPE_HOME]
      : [benchFile('programs/run-troupe.mjs'), 'ollama/scripted', place.dir]
    const { stdout, ...usage } = await measureNode(args, { env: { ...place.env, OLLAMA_HOST: server.url } })
    const { runMs, delivered } = JSON.parse(stdout)
    if (!isNull && delivered !== children) throw new Error(`${delivered} of ${children} children were delivered`)
    return { ...usage, runMs }
  } finally {
    await server.stop()
    place.remove()
  }
}
