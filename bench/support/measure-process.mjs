import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const pollMs = 5

/**
 * Runs Node on a script to its end. Resolves with its wall clock, its processor time and the most memory that it and its
 * descendants held (sum of each process's VmHWM), in ms and MB, and with what it printed. Rejects when it fails.
 */
export async function measureNode(args, { env, cwd } = {}) {
  const began = performance.now()
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collect(child)
  const watch = watchTree(child.pid)
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? signal))
  })
  const wallMs = performance.now() - began
  const usage = watch.stop()
  const { stdout, stderr } = await output
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}: ${stderr.slice(-2000)}`)
  return { wallMs, ...usage, stdout }
}

function collect(child) {
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (texts[name] += text))
  return new Promise((resolve) => child.once('close', () => resolve(texts)))
}

/** Looks at /proc: the peak of a process that has ended is what was seen of it last, at most 5 ms before. */
function watchTree(root) {
  const peaks = new Map()
  let cpuMs = 0
  const look = () => {
    for (const pid of treeOf(root)) {
      const peakKb = statusOf(pid)
      if (peakKb !== undefined) peaks.set(pid, peakKb)
    }
    cpuMs = cpuOf(root) ?? cpuMs
  }
  const timer = setInterval(look, pollMs)
  return {
    stop() {
      clearInterval(timer)
      return { peakMb: [...peaks.values()].reduce((sum, kb) => sum + kb, 0) / 1024, cpuMs }
    },
  }
}

function treeOf(root) {
  const found = [root]
  for (const pid of found) {
    for (const task of list(`/proc/${pid}/task`)) {
      const children = read(`/proc/${pid}/task/${task}/children`)
      found.push(...children.split(' ').filter(Boolean).map(Number))
    }
  }
  return found
}

function statusOf(pid) {
  const peak = /^VmHWM:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))
  return peak ? Number(peak[1]) : undefined
}

/** The kernel counts in hundredths of a second. */
function cpuOf(pid) {
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ')
  return fields.length > 13 ? (Number(fields[11]) + Number(fields[12])) * 10 : undefined
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // It has ended.
  }
}

function list(path) {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
