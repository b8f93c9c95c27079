import { measureNode } from '../support/measure-process.mjs'
import { medians } from '../support/statistics.mjs'
import { cliPath, createWorkplace } from '../support/workplace.mjs'

/** A whole `troupe run` of one turn, beside a Node that does nothing. */
export async function oneTurn({ runs }) {
  const place = createWorkplace()
  try {
    const model = `scripted:${place.script({ rules: [{ when: {}, reply: { text: 'Hello.' } }] })}`
    const run = [cliPath, 'run', 'Say hello', '--model', model, '--dir', place.dir]
    const samples = { empty: [], run: [] }
    for (let n = 0; n < runs; n++) {
      samples.empty.push(withoutOutput(await measureNode(['-e', '0'])))
      samples.run.push(withoutOutput(await measureNode(run, { env: place.env })))
    }
    const [empty, whole] = [medians(samples.empty), medians(samples.run)]
    return [
      {
        figure: 'one turn, whole process',
        value: whole.wallMs,
        unit: 'ms',
        floor: empty.wallMs,
        goal: empty.wallMs + 300,
      },
      { figure: 'one turn, processor time', value: whole.cpuMs, unit: 'ms', floor: empty.cpuMs },
      { figure: 'one turn, peak memory', value: whole.peakMb, unit: 'MB', floor: empty.peakMb, goal: 110 },
    ]
  } finally {
    place.remove()
  }
}

function withoutOutput({ wallMs, cpuMs, peakMb }) {
  return { wallMs, cpuMs, peakMb }
}
