// SPDX-License-Identifier: BSD-3-Clause
// A box [-1, 1]^2 x [-1, h - 1] without structure, by Gmsh 4.8.4:
//   box100.msh    gmsh -3 box.geo -setnumber lc 1.4 -setnumber h 2 -format msh22
// The same box with K = 15628 elements, by Gmsh:
//                 gmsh -3 box.geo -setnumber lc 0.13946 -setnumber h 1.9651 -format msh22 -bin
// Figures up to version 0.1 are of that one. make_k15628.py makes a mesh of the same number without Gmsh.
DefineConstant[ lc = 0.17, h = 2 ];
Point(1) = {-1, -1, -1, lc};
e[] = Extrude {2, 0, 0} { Point{1}; };
s[] = Extrude {0, 2, 0} { Line{e[1]}; };
v[] = Extrude {0, 0, h} { Surface{s[1]}; };
Mesh.CharacteristicLengthMin = lc;
Mesh.CharacteristicLengthMax = lc;
Physical Surface("wall") = Boundary{ Volume{v[1]}; };
Physical Volume("medium") = {v[1]};
