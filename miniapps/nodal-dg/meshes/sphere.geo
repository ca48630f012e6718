// SPDX-License-Identifier: BSD-3-Clause
// A sphere of radius 1/2 in a box [-2, 2] x [-1.5, 1.5]^2: gmsh -3 sphere.geo -format msh22 -bin -o sphere.msh
SetFactory("OpenCASCADE");
DefineConstant[ fine = 0.2, coarse = 0.42 ];
Box(1) = {-2, -1.5, -1.5, 4, 3, 3};
Sphere(2) = {0, 0, 0, 0.5};
BooleanDifference(3) = { Volume{1}; Delete; }{ Volume{2}; Delete; };
Field[1] = Ball;
Field[1].Radius = 0.55;
Field[1].Thickness = 0.8;
Field[1].VIn = fine;
Field[1].VOut = coarse;
Background Field = 1;
Mesh.CharacteristicLengthExtendFromBoundary = 0;
Mesh.CharacteristicLengthFromPoints = 0;
Mesh.Optimize = 1;
ball() = Surface In BoundingBox{-0.6, -0.6, -0.6, 0.6, 0.6, 0.6};
all() = Boundary{ Volume{3}; };
outer() = all();
outer() -= ball();
Physical Surface("sphere") = ball();
Physical Surface("outside") = outer();
Physical Volume("medium") = {3};
