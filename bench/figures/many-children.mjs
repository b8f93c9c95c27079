import { fanOutScript, readTurns } from '../support/fan-out-script.mjs'
import { measureNode } from '../support/measure-process.mjs'
import { medians } from '../support/statistics.mjs'
import { benchFile, createWorkplace } from '../support/workplace.mjs'

/** 256 and 1,000 children at once, the model in process; and 1,000 whose replies take 250 ms on 64 slots. */
export async function manyChildren({ runs }) {
  return [...(await atOnce(256, runs)), ...(await atOnce(1000, runs)), ...(await onSlots(1000, Math.min(runs, 3)))]
}

const slots = 64
const replyMs = 250

/** The ideal: every slot busy all the time, and the lead's two replies. */
async function onSlots(children, runs) {
  const { rules, ...script } = fanOutScript(children, 1)
  const slow = rules.map(({ when, reply }) => ({ when, reply: { ...reply, delayMs: replyMs } }))
  const { runMs, peakMb } = await play({ ...script, server: { parallel: slots }, rules: slow }, children, runs)
  const idealMs = Math.ceil((children * 2) / slots) * replyMs + 2 * replyMs
  const name = '1,000 children, 250 ms a reply, 64 slots'
  return [
    { figure: name, value: runMs, unit: 'ms', floor: idealMs },
    { figure: `${name}, peak memory`, value: peakMb, unit: 'MB' },
  ]
}

async function atOnce(children, runs) {
  const { runMs, peakMb } = await play(fanOutScript(children), children, runs)
  const turns = children * (readTurns + 1)
  const name = `${children.toLocaleString('en-US')} children in process`
  return [
    { figure: `${name}, peak memory`, value: peakMb, unit: 'MB', ...(children === 256 && { goal: 300 }) },
    { figure: `${name}, per child turn`, value: runMs / turns, unit: 'ms' },
  ]
}

/** Every child must have been delivered. */
async function play(script, children, runs) {
  const place = createWorkplace()
  const model = `scripted:${place.script(script)}`
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
  return medians(samples)
}
