import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { median, percentile } from '../support/statistics.mjs'

const trips = 2000

/** What the machine itself takes: an empty worker's start and its round trip. */
export async function floors({ runs }) {
  const starts = []
  const trip = []
  for (let n = 0; n < runs; n++) {
    const began = performance.now()
    const code = `const { parentPort } = require('node:worker_threads'); parentPort.on('message', (m) => parentPort.postMessage(m))`
    const worker = new Worker(code, { eval: true })
    await roundTrip(worker)
    starts.push(performance.now() - began)
    trip.push(percentile(await manyTrips(worker), 0.5))
    await worker.terminate()
  }
  return [
    { figure: 'empty worker: start', value: median(starts), unit: 'ms' },
    { figure: 'empty worker: round trip, p50', value: median(trip) * 1000, unit: 'us' },
  ]
}

async function manyTrips(worker) {
  const times = []
  for (let n = 0; n < trips; n++) {
    const began = performance.now()
    await roundTrip(worker)
    times.push(performance.now() - began)
  }
  return times
}

async function roundTrip(worker) {
  worker.postMessage({ n: 1 })
  await once(worker, 'message')
}
