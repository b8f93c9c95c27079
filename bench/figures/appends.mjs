import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { loadSource } from '../support/load-source.mjs'
import { median } from '../support/statistics.mjs'
import { createWorkplace } from '../support/workplace.mjs'

const spanMs = 1000

/** Appends a second to one journal: written at once and synced in the background, and each awaited on the disk. */
export async function appends({ runs }) {
  const place = createWorkplace()
  const samples = { written: [], synced: [], raw: [], rawSynced: [] }
  try {
    const { createStore } = await loadSource('src/store/create-store.ts', place.base)
    for (let n = 0; n < runs; n++) {
      samples.raw.push(rawAppends(join(place.base, `raw-${n}`), false))
      samples.rawSynced.push(rawAppends(join(place.base, `raw-synced-${n}`), true))
      samples.written.push(await storeAppends(createStore, place, false))
      samples.synced.push(await storeAppends(createStore, place, true))
    }
  } finally {
    place.remove()
  }
  const { written, synced, raw, rawSynced } = Object.fromEntries(
    Object.entries(samples).map(([name, values]) => [name, median(values)]),
  )
  return [
    { figure: 'store: appends, synced in the background', value: written, unit: '/s', floor: raw },
    { figure: 'store: appends, each synced', value: synced, unit: '/s', floor: rawSynced },
  ]
}

const record = {
  type: 'call.finished',
  call: 'c1.1',
  result: { output: 'one line of output\n'.repeat(10), isError: false, how: 'ok', title: 'file-1.txt' },
  durationMs: 3,
}

let roots = 0

async function storeAppends(createStore, place, isSynced) {
  const clock = {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after(delayMs, run) {
      const timer = setTimeout(run, delayMs)
      return () => clearTimeout(timer)
    },
  }
  const store = createStore({
    dataDir: place.env.TROUPE_HOME,
    clock,
    onDamage: ({ message }) => console.error(message),
  })
  const root = `bench${++roots}`
  const lock = store.lockRoot(root)
  const ref = { root, session: root }
  const perSecond = await countFor(async () => {
    store.append(ref, [record])
    if (isSynced) await store.synced(ref)
  })
  await store.close()
  lock.release()
  return perSecond
}

/** Lets the event loop turn now and then, so that background syncs take their part. */
async function countFor(step) {
  const began = performance.now()
  let count = 0
  for (; performance.now() - began < spanMs; count++) {
    await step()
    if (count % 50 === 0) await new Promise(setImmediate)
  }
  return (count * 1000) / (performance.now() - began)
}

function rawAppends(path, isSynced) {
  const fd = openSync(path, 'a')
  const began = performance.now()
  let count = 0
  for (; performance.now() - began < spanMs; count++) {
    writeSync(fd, `${JSON.stringify({ seq: count, at: Date.now(), ...record })}\n`)
    if (isSynced) fdatasyncSync(fd)
  }
  closeSync(fd)
  return (count * 1000) / (performance.now() - began)
}
