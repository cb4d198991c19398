// The points of a cloud as round dots that face the eye, lit by the surface's normal on either side.

import * as THREE from "three";
import { directions, floats } from "./data.js";

// of the world's width, but never narrower than a pixel and a half
const SIZE = `
  uniform float uWidth, uHeight;
  float dotSize(vec4 p) { return max(uWidth * projectionMatrix[1][1] * 0.5 * uHeight / p.w, 1.5); }`;

const VERTEX = `${SIZE}
  varying vec3 vNormal, vToEye;
  void main() {
    vec4 p = modelMatrix * vec4(position, 1.0);
    vNormal = mat3(modelMatrix) * normal;
    vToEye = cameraPosition - p.xyz;
    gl_Position = projectionMatrix * viewMatrix * p;
    gl_PointSize = dotSize(gl_Position);
  }`;

// the sky, the sun and the fill light of the scene
const FRAGMENT = `
  uniform vec3 uColor, uGlow;
  varying vec3 vNormal, vToEye;
  void main() {
    vec2 d = 2.0 * gl_PointCoord - 1.0;
    float r2 = dot(d, d);
    if (r2 > 1.0) discard;
    vec3 eye = normalize(vToEye);
    vec3 n = dot(vNormal, vNormal) > 0.01 ? normalize(vNormal) : eye;
    if (dot(n, eye) < 0.0) n = -n;
    vec3 light = mix(vec3(0.27, 0.25, 0.22), vec3(0.52, 0.54, 0.56), 0.5 + 0.5 * n.z);
    light += vec3(0.70, 0.68, 0.64) * max(dot(n, normalize(vec3(0.45, -0.55, 1.0))), 0.0);
    light += vec3(0.12, 0.13, 0.15) * max(dot(n, normalize(vec3(-1.0, 1.0, 0.6))), 0.0);
    gl_FragColor = vec4(uColor * light * (1.0 - 0.3 * r2) + uGlow, 1.0);
    #include <tonemapping_fragment>
    #include <colorspace_fragment>
  }`;

const SHADOW_VERTEX = `${SIZE}
  void main() {
    gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
    gl_PointSize = dotSize(gl_Position);
  }`;

const SHADOW_FRAGMENT = `
  #include <packing>
  void main() {
    vec2 d = 2.0 * gl_PointCoord - 1.0;
    if (dot(d, d) > 1.0) discard;
    gl_FragColor = packDepthToRGBA(gl_FragCoord.z);
  }`;

export function dots(shape) {
  const { points, normals, width } = shape.geometry;
  const geometry = new THREE.BufferGeometry();
  const position = floats(points);
  const normal = directions(normals);
  geometry.setAttribute("position", new THREE.BufferAttribute(position, 3));
  geometry.setAttribute("normal", new THREE.BufferAttribute(normal.length ? normal : new Int8Array(position.length), 3, true));
  const color = new THREE.Color().setRGB(...shape.color.slice(0, 3), THREE.SRGBColorSpace);
  const glow = new THREE.Color(0);
  const size = { uWidth: { value: width }, uHeight: { value: 1 } };
  const material = new THREE.ShaderMaterial({
    uniforms: { ...size, uColor: { value: color }, uGlow: { value: glow } }, vertexShader: VERTEX, fragmentShader: FRAGMENT,
  });
  // where the pointer's highlight looks for it
  material.emissive = glow;
  const object = new THREE.Points(geometry, material);
  object.customDepthMaterial = new THREE.ShaderMaterial({
    uniforms: { ...size, uHeight: { value: 2048 } }, vertexShader: SHADOW_VERTEX, fragmentShader: SHADOW_FRAGMENT,
  });
  object.castShadow = true;
  const buffer = new THREE.Vector2();
  object.onBeforeRender = (renderer) => { size.uHeight.value = renderer.getDrawingBufferSize(buffer).y; };
  return object;
}
