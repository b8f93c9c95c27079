/** The value at `fraction` of the sorted numbers (nearest rank). */
export function percentile(numbers, fraction) {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * fraction) - 1))]
}

export function median(numbers) {
  return percentile(numbers, 0.5)
}

/** The median of each numeric field over objects of the same fields. */
export function medians(samples) {
  const fields = Object.keys(samples[0] ?? {})
  return Object.fromEntries(fields.map((field) => [field, median(samples.map((sample) => sample[field]))]))
}
