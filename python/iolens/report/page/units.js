// How values are written: the same as iolens/report/units.py and iolens/rules/text.py.
const UNKNOWN = "–";

function grouped(value) {
  return fixed(value, 0).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

// N significant digits, no trailing zeros, and no power of ten but for what is tiny.
function general(value, digits) {
  if (value === 0) return "0";
  const exponent = Number(value.toExponential(digits - 1).split("e")[1]);
  if (exponent >= digits) return grouped(Number(value.toExponential(digits - 1)));
  if (exponent < -4) {
    const [mantissa, power] = value.toExponential(digits - 1).split("e");
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    const size = String(Math.abs(Number(power))).padStart(2, "0");
    return `${short}e${Number(power) < 0 ? "-" : "+"}${size}`;
  }
  const text = value.toFixed(Math.max(0, digits - 1 - exponent));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

// Python rounds halves to even, here as there.
function fixed(value, digits) {
  const scaled = value * 10 ** digits;
  const low = Math.floor(scaled);
  if (scaled - low === 0.5) return ((low % 2 ? low + 1 : low) / 10 ** digits).toFixed(digits);
  return value.toFixed(digits);
}

// A number and what it counts.
function counted(value, noun) {
  if (value === 1) return `1 ${noun}`;
  const more = /(s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun.replace(/([^aeiou])y$/, "$1ie")}s`;
  return `${grouped(value)} ${more}`;
}

function bytesText(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let scale = 0;
  while (Math.abs(value) >= 1023.95 && scale < units.length - 1) {
    value /= 1024;
    scale += 1;
  }
  return `${fixed(value, scale === 0 ? 0 : 1).replace(/\.0$/, "")} ${units[scale]}`;
}

function secondsText(value) {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 9.995e-7) return `${general(value * 1e9, 3)} ns`;
  if (size < 0.0009995) return `${fixed(value * 1e6, 0)} us`;
  if (size < 0.9995) return `${general(value * 1e3, 3)} ms`;
  if (size < 599.5) return size < 99.95 ? `${general(value, 3)} s` : `${grouped(value)} s`;
  const sign = value < 0 ? "-" : "";
  const left = Number(fixed(size, 0));
  const [minutes, hours] = [Math.floor((left + 30) / 60), Math.floor((left + 1800) / 3600)];
  if (hours >= 720) return `${sign}${grouped(Math.floor((hours + 12) / 24))} days`;
  const units = [[left, 60, 3600, "min", "s"], [minutes, 60, 48 * 60, "h", "min"], [hours, 24, 720, "d", "h"]];
  const [whole, small, , unit, rest] = units.find((one) => one[0] < one[2]);
  return `${sign}${Math.floor(whole / small)} ${unit}${whole % small ? ` ${whole % small} ${rest}` : ""}`;
}

function percentText(value) {
  const part = 100 * value;
  if (part > 0 && part < 0.1) return "less than 0.1 %";
  return `${fixed(part, part < 9.95 ? 1 : 0)} %`;
}

function write(value, unit) {
  if (value === null || value === undefined) return UNKNOWN;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  switch (unit) {
    case "bytes": return bytesText(value);
    case "seconds": return secondsText(value);
    case "percent": return percentText(value);
    case "rate": return `${bytesText(value)}/s`;
    case "factor": return value < 9.95 ? fixed(value, 1).replace(/\B(?=(\d{3})+\.)/g, ",") : grouped(value);
    case "count": return grouped(value);
    default: return Number.isInteger(value) ? String(value) : general(value, 4);
  }
}
