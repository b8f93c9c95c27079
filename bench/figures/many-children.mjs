import { fanOutScript, readTurns } from '../support/fan-out-script.mjs'
import { measureNode } from '../support/measure-process.mjs'
import { medians } from '../support/statistics.mjs'
import { benchFile, createWorkplace } from '../support/workplace.mjs'

const children = 256

/** 256 children at once, the model in process. */
export async function manyChildren({ runs }) {
  const place = createWorkplace()
  const model = `scripted:${place.script(fanOutScript(children))}`
  const samples = []
  try {
    for (let n = 0; n < runs; n++) {
      const args = [benchFile('programs/run-troupe.mjs'), model, place.dir]
      const { stdout, wallMs, cpuMs, peakMb } = await measureNode(args, { env: place.env })
      const { runMs, delivered } = JSON.parse(stdout)
      if (delivered !== children) throw new Error(`${delivered} of ${children} children were delivered`)
      samples.push({ wallMs, cpuMs, peakMb, runMs })
    }
  } finally {
    place.remove()
  }
  const { runMs, peakMb } = medians(samples)
  const turns = children * (readTurns + 1)
  return [
    { figure: '256 children in process, peak memory', value: peakMb, unit: 'MB', goal: 300 },
    { figure: '256 children in process, per child turn', value: runMs / turns, unit: 'ms' },
  ]
}
